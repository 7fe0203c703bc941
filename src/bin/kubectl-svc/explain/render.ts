import type { ExplainStep } from '../../../api/page/types.ts';
import { firstNo } from '../../../capture/explain/index.ts';
import type { PodSetting } from '../../../capture/index.ts';
import type { Styles } from '../output/style.ts';
import { printable, table, width } from '../output/table.ts';
import { sign } from '../status/render.ts';
import type { Explanation } from './explanation.ts';
import type { PodExplanation } from './explain-pod.ts';
import type { CheckState } from '../status/check.ts';

/** The state whose sign is shown before a step with this answer. */
const stateOfAnswer: Readonly<Record<ExplainStep['answer'], CheckState>> = {
  yes: 'ok',
  no: 'bad',
  note: 'note',
  unknown: 'unknown',
};

/**
 * The explanation as text: the steps, the first obstacle again with its remedy, a table if there are several pods, the
 * settings. Pure.
 */
export function explanationText(explanation: Explanation, style: Styles): string {
  const { target, steps, pods, settings } = explanation;
  const [only] = pods;
  const parts = [style.bold(target) + '\n'];
  if (steps.length > 0) parts.push(stepLines(steps, style), verdictLine(steps, undefined, style));
  if (pods.length === 1 && steps.length === 0) {
    parts.push(stepLines(only!.steps, style), verdictLine(only!.steps, only, style));
  } else if (pods.length > 0) {
    parts.push(`\n${podTable(pods, style)}`);
    // One pod represents the others: the first with a fault, or the first.
    const shown = pods.find((pod) => firstNo(pod.steps)) ?? only!;
    parts.push(
      `\n${style.bold(`pod/${shown.pod}`)}\n`,
      stepLines(shown.steps, style),
      verdictLine(shown.steps, shown, style),
    );
  }
  if (settings.length > 0) parts.push(`\n${settingTable(settings)}`);
  return parts.join('');
}

function stepLines(steps: readonly ExplainStep[], style: Styles): string {
  const widest = Math.max(...steps.map(({ asks }) => width(asks)));
  return steps
    .map(({ asks, answer, fact, way }) => {
      const hint = way === undefined ? '' : ` ${style.dim(`→ ${printable(way)}`)}`;
      return `  ${sign(stateOfAnswer[answer], style)} ${asks.padEnd(widest)}  ${printable(fact)}${hint}\n`;
    })
    .join('');
}

function verdictLine(steps: readonly ExplainStep[], pod: PodExplanation | undefined, style: Styles): string {
  const first = firstNo(steps);
  if (first)
    return `${sign('bad', style)} ${pod ? 'not captured' : 'not well'}: ${printable(first.fact)}\n  ${printable(first.way ?? '')}\n`;
  if (!pod) return `${sign('ok', style)} nothing stands in the way\n`;
  if (pod.captured) return `${sign('ok', style)} captured\n`;
  return `${sign('unknown', style)} nothing stands in the way, as far as can be seen\n`;
}

function podTable(pods: readonly PodExplanation[], style: Styles): string {
  const columns = [{ title: 'POD' }, { title: 'NODE' }, { title: 'SERIES', right: true }, { title: 'CAPTURED' }];
  const rows = pods.map(({ pod, node, series, steps, captured }) => {
    const first = firstNo(steps);
    const total = series.reduce((sum, s) => sum + s.series, 0);
    return [pod, node ?? '', String(total), captured ? 'yes' : first ? `no: ${first.asks}` : 'unknown'];
  });
  const last = columns.length - 1;
  return table(columns, rows, {
    paint: (text, column) => (column === last && text.startsWith('no') ? style.red(text) : text),
  });
}

/** The text for a setting that no object sets and whose built-in value is undefined. */
const builtin: Readonly<Record<string, string>> = {
  'signals.metrics': 'Enabled',
  'signals.spans': 'Enabled',
  'metrics.families': 'all but TCPStats',
  'metrics.interval': 'as the node exports',
  'sampling.ratio': '1',
  'sampling.parentBased': 'true',
  'sampling.keepErrors': 'false',
  protocols: 'all',
};

/** Each effective setting, and the object that it comes from. Pure. */
function settingTable(settings: readonly PodSetting[]): string {
  const rows = settings.map(({ path, value, from }) => [
    path,
    value === undefined ? (builtin[path] ?? '') : valueText(value),
    from,
  ]);
  return table([{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'FROM' }], rows);
}

function valueText(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}
