import { formatDuration } from '../../../base/duration.ts';
import type { RolloutRules } from '../../../capture/index.ts';
import type { Styles } from '../output/style.ts';
import { printable } from '../output/table.ts';
import type { NodeGroup } from './node-changes.ts';
import type { DiffPlan, ObjectChange } from './plan.ts';

/** A line names at most this many nodes. */
const shown = 5;

/**
 * The plan as text: each object with its own diff, then each group of nodes with the changed lines, the number of
 * restarting instruments and their pacing. Lines outside a diff begin with `#`. Pure.
 */
export function planText(plan: DiffPlan, style: Styles): string {
  const objects = plan.objects
    .filter(({ change }) => change !== 'unchanged')
    .map((object) => objectText(object, style));
  const groups = plan.groups.map((group) => groupText(group, plan.nodes, style));
  const quiet = objects.length > 0 && groups.length === 0 ? [`# nothing changes on the ${plan.nodes} nodes\n`] : [];
  return [...objects, ...groups, ...quiet].join('\n');
}

function objectText({ object, change, diff, notes }: ObjectChange, style: Styles): string {
  if (change === 'absent') return `# ${object}: is not there\n`;
  const words: Record<string, string> = {
    created: 'would be created',
    configured: 'would change',
    deleted: 'would be deleted',
  };
  const head = [`# ${object} ${words[change]}`, ...notes.map((note) => `#   ${note}`)];
  return `${head.map((line) => `${style.bold(printable(line))}\n`).join('')}${diffText(object, diff, style)}`;
}

function groupText(group: NodeGroup, total: number, style: Styles): string {
  const { nodes, instrument, rules } = group;
  const of = `${nodes.length} of ${total} ${total === 1 ? 'node' : 'nodes'} (${listed(nodes)})`;
  const head = [`# ${of}: ${restartText(group)}`, ...paceText(group)];
  const label = nodes.length === 1 ? nodes[0]! : `${nodes.length} nodes`;
  return [
    head.map((line) => `${style.bold(printable(line))}\n`).join(''),
    diffText(`instrument.yaml on ${label}`, instrument, style),
    diffText(`agent rules on ${label}`, rules, style),
  ].join('');
}

function diffText(label: string, lines: readonly string[], style: Styles): string {
  if (lines.length === 0) return '';
  const paint = (line: string): string => {
    const text = printable(line);
    if (line.startsWith('+')) return style.green(text);
    return line.startsWith('-') ? style.red(text) : line.startsWith('@@') ? style.cyan(text) : text;
  };
  return [`--- ${label} (now)`, `+++ ${label} (then)`, ...lines].map((line) => `${paint(line)}\n`).join('');
}

function listed(names: readonly string[]): string {
  const more = names.length > shown ? ` and ${names.length - shown} more` : '';
  return `${names.slice(0, shown).join(', ')}${more}`;
}

function restartText({ nodes, instrument, restarts }: NodeGroup): string {
  if (instrument.length === 0) return "no instrument restarts; the agent's rules take effect immediately";
  const rest = nodes.length - restarts.length;
  const others =
    rest > 0 ? `${rest} ${rest === 1 ? 'gets' : 'get'} the file without a restart (no pod there that it concerns)` : '';
  const count =
    restarts.length === 0
      ? 'no instrument restarts'
      : `${restarts.length} ${restarts.length === 1 ? 'instrument restarts' : 'instruments restart'}`;
  return [count, others].filter((text) => text !== '').join(', ');
}

function paceText({ restarts, rollout, canaries }: NodeGroup): string[] {
  if (restarts.length === 0 || !rollout) return [];
  return [`#   ${pace(rollout, canaries)}`];
}

function pace(rollout: RolloutRules, canaries: readonly string[]): string {
  const { group, maxUnavailable, minIntervalMs, pauseOnFailure } = rollout;
  if (group === '') return 'all at once: no policy has rollout';
  const first =
    rollout.canary === null
      ? []
      : [canaries.length > 0 ? `first the canaries ${listed(canaries)}` : 'after the canaries'];
  return [
    ...first,
    `at most ${maxUnavailable} of the nodes under ${group} at a time`,
    ...(minIntervalMs > 0 ? [`restarts of a node at least ${formatDuration(minIntervalMs)} apart`] : []),
    pauseOnFailure ? 'a node that fails stops the rest' : 'a node that fails does not stop the rest',
  ].join(', ');
}
