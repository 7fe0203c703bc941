import { dirname } from 'node:path/posix';
import { parse } from 'yaml';
import { canonicalJson, sha256Hex } from '../../../base/canonical-json.ts';
import type { CaptureConfig } from '../../../capture/index.ts';
import { podFacts, runsAgents } from '../../../controllers/capture/facts.ts';
import { itemsOf, listedMonitors, type ClusterView } from '../cluster/view.ts';
import { askSeries, maxPods } from '../explain/ask-series.ts';
import { known, type Known } from '../explain/explain-pod.ts';
import { explain, podsOfTarget } from '../explain/explanation.ts';
import { explanationText } from '../explain/render.ts';
import type { Target } from '../explain/target.ts';
import type { Session } from '../session.ts';
import type { Bundle } from './bundle.ts';
import { plain } from './collect-objects.ts';
import type { Redactor } from './redact/redactor.ts';

/**
 * The largest number of nodes and monitors, together, that are explained. Half is for nodes, half for monitors; what
 * the one half does not need is for the other.
 */
const maxExplained = 100;
/** The most pods that are explained. Each monitor has an equal share, so that a bundle is made in seconds. */
const maxExplainedPods = 500;

/** Adds the wanted configs of the nodes, and the explanations of nodes and monitors. */
export async function addCapture(
  bundle: Bundle,
  session: Session,
  view: ClusterView,
  redactor: Redactor,
): Promise<void> {
  const unasked = known(view, { fault: 'it was not asked' });
  const nodes = itemsOf(view.nodes)
    .filter(runsAgents)
    .map(({ metadata }) => metadata.name ?? '');
  const monitors = itemsOf(listedMonitors(view));
  const nodeCount = Math.min(nodes.length, Math.max(maxExplained / 2, maxExplained - monitors.length));
  const monitorCount = Math.min(monitors.length, maxExplained - nodeCount);
  const targets: { target: Target; namespace: string }[] = [
    ...nodes.slice(0, nodeCount).map((name) => ({ target: { type: 'node', name } as const, namespace: '' })),
    ...monitors.slice(0, monitorCount).map(({ metadata: { name = '', namespace = '' } }) => ({
      target: { type: 'monitor', name } as const,
      namespace,
    })),
  ];
  const share = Math.min(maxPods, Math.floor(maxExplainedPods / Math.max(monitorCount, 1)));
  const found = targets.map((one) => ({ ...one, pods: podsOfTarget(one.target, one.namespace, view, unasked) }));
  const shown = found.map((one) => ({ ...one, pods: one.pods.slice(0, share) }));
  const cut = found.filter(({ pods }) => pods.length > share).length;
  if (nodes.length > nodeCount)
    bundle.lacks('explain/node/, in part', `of ${nodes.length} nodes the first ${nodeCount} are explained`);
  if (monitors.length > monitorCount)
    bundle.lacks('explain/monitor/, in part', `of ${monitors.length} monitors the first ${monitorCount} are explained`);
  if (cut > 0)
    bundle.lacks('explain/monitor/: pods', `of each monitor the first ${share} are explained, of ${cut} not all`);
  // Several monitors may select the same pod.
  const pods = new Set(shown.flatMap((one) => one.pods.flatMap((pod) => podFacts(pod) ?? [])));
  const series = await askSeries(() => session.connect(), { pods: [...pods], nodes }, session.signal);
  if (series.fault !== undefined) bundle.lacks('explain/: whether there is data', redactor.text(series.fault));
  const all = { ...unasked, facts: series };
  for (const { target, namespace, pods } of shown) {
    const text = explanationText(explain(target, namespace, pods, all), plain);
    const path = `explain/${target.type}/${namespace === '' ? '' : `${namespace}/`}${target.name}.txt`;
    bundle.add(path, `kubectl svc explain ${target.type}/${target.name}`, redactor.text(text));
  }
  addConfigs(bundle, all, redactor);
}

/**
 * Adds what the operator compiles for each node. Each instrument file is added once, and rules that differ only in the
 * node's name and pods are added once. The rules have the listed monitors only; a file cannot be divided.
 */
function addConfigs(bundle: Bundle, { view, compiled, assumed }: Known, redactor: Redactor): void {
  if (assumed !== null)
    bundle.lacks('capture/: the operator’s settings', `${assumed}; those of a new installation stand for them`);
  if (!compiled) return bundle.lacks('capture/', 'nodes, namespaces, pods, monitors and policies were not all read');
  const { objectNamespace } = view;
  if (objectNamespace !== undefined)
    bundle.lacks('capture/, in part', `of the rules of monitors only those of namespace ${objectNamespace}`);
  /** File of rules → the first of the configs that have these rules. */
  const byRules = new Map<string, CaptureConfig>();
  const nodes = [...compiled.nodes].map(([node, { config: whole, hash, yamlHash, rollout }]) => {
    const listed = whole.monitors.filter(({ namespace }) => namespace === (objectNamespace ?? namespace));
    const config = { ...whole, monitors: listed };
    const rules = `capture/${yamlHash.replace(/^sha256:/, '').slice(0, 12)}/rules-${sharedRulesHash(config)}.json`;
    if (!byRules.has(rules)) byRules.set(rules, config);
    return { node, hash, yamlHash, rollout, rules };
  });
  bundle.addJson('capture/nodes.json', 'what each node should hold, by hash and file', redactor.value(nodes));
  const files = new Set<string>();
  for (const [path, { instrument, ...rules }] of byRules) {
    const file = `${dirname(path)}/instrument.yaml`;
    if (!files.has(file)) {
      const yaml = redactor.value(parse(instrument.yaml), true);
      bundle.addYaml(file, 'the instrument’s file of the nodes with this yamlHash', [yaml]);
    }
    files.add(file);
    bundle.addJson(path, `the agent’s rules, as of ${rules.node}`, redactor.value(rules));
  }
}

/** A hash of a node's rules without the node's name and pods. */
function sharedRulesHash({ instrument: _instrument, node: _node, monitors, ...shared }: CaptureConfig): string {
  const rules = monitors.map(({ pods: _pods, ...rule }) => rule);
  return sha256Hex(canonicalJson({ ...shared, monitors: rules })).slice(0, 12);
}
