import type { ExplainStep } from '../../../api/page/types.ts';
import {
  captureSteps,
  declaredPorts,
  firstNo,
  no,
  noMetricsStep,
  note,
  unknown,
  yes,
} from '../../../capture/explain/index.ts';
import {
  compile,
  lastingContainers,
  podView,
  silencedMonitors,
  type CompileInput,
  type CompileResult,
  type PodFacts,
  type PodSetting,
  type PodView,
} from '../../../capture/index.ts';
import { podFacts } from '../../../controllers/capture/facts.ts';
import { compileInput } from '../cluster/compile-input.ts';
import { operatorEnvironment } from '../cluster/operator-environment.ts';
import type { PodWithStatus } from '../cluster/pod-fault.ts';
import { isWhole, itemsOf, type ClusterView } from '../cluster/view.ts';
import { ago } from '../status/events.ts';
import { ownerName } from './ask-series.ts';
import { nodeSteps } from './node-steps.ts';
import { flowsOf, seriesCounts, seriesOfPod, type SeriesCount, type SeriesFacts } from './series.ts';

/** The inputs of an explanation. */
export interface Known {
  readonly view: ClusterView;
  readonly input: CompileInput;
  readonly compiled: CompileResult | undefined;
  readonly facts: SeriesFacts;
  /** Why the operator's own settings are unknown; null when they are known. */
  readonly assumed: string | null;
}

/** All data that was read and queried, compiled once. Pure. */
export function known(view: ClusterView, facts: SeriesFacts): Known {
  const { environment, assumed } = operatorEnvironment(view);
  const input = compileInput(view, environment);
  return { view, input, compiled: isWhole(view) ? compile(input) : undefined, facts, assumed };
}

/** The explanation of one pod. */
export interface PodExplanation {
  readonly pod: string;
  readonly node: string | null;
  /** True when no step says no, and there is data. */
  readonly captured: boolean;
  readonly steps: readonly ExplainStep[];
  readonly settings: readonly PodSetting[];
  readonly series: readonly SeriesCount[];
}

/** Why a pod is captured or not, and how. Pure. */
export function explainPod(pod: PodWithStatus, all: Known): PodExplanation {
  const { namespace = '', name = '' } = pod.metadata;
  const path = `${namespace}/${name}`;
  const facts = podFacts(pod);
  if (!facts) {
    const phase = pod.status?.phase ?? 'Pending';
    const ended = phase === 'Succeeded' || phase === 'Failed';
    const step = ended
      ? no('pod', `it has ended (${phase})`, 'explain the pod that took its place')
      : no('pod', 'it is on no node yet', `kubectl -n ${namespace} describe pod ${name}`);
    return { pod: path, node: null, captured: false, steps: [step], settings: [], series: [] };
  }
  const decided = podView(all.input, facts);
  const counts = seriesCounts(all.facts.fault === undefined ? seriesOfPod(all.facts.series, namespace, name) : []);
  const silenced = silencedMonitors(all.input);
  const monitors = decided.monitors.map((m) => m.path);
  const steps = [
    podStep(pod),
    ...sureSteps(
      captureSteps(decided, declaredPorts(lastingContainers(pod.spec)), silenced, counts.length > 0),
      decided,
      all.view,
    ),
    ...nodeSteps({ ...all, node: facts.nodeName, monitors, hasData: counts.length > 0 }),
    conflictStep(decided, all),
    all.view.monitors.fault === undefined ? limitStep(decided, all) : unknown('limits', all.view.monitors.fault),
    seriesStep(counts, facts, decided, all),
  ];
  const captured = firstNo(steps) === undefined && counts.length > 0;
  return {
    pod: path,
    node: facts.nodeName,
    captured,
    steps,
    settings: unreadOf(all.view) === undefined ? decided.settings : [],
    series: counts,
  };
}

/** Why an input of the capture decision is missing; undefined when all of them were read. */
function unreadOf({ policies, monitors, nodes, namespaces }: ClusterView): string | undefined {
  return [policies, monitors, nodes, namespaces].find((list) => list.fault !== undefined)?.fault;
}

/** The steps; those whose answer depends on a list that could not be read become unknown. */
function sureSteps(steps: readonly ExplainStep[], { monitors }: PodView, view: ClusterView): ExplainStep[] {
  const fault = unreadOf(view);
  if (fault === undefined) return [...steps];
  return steps.map((step) => {
    if (step.asks === 'selected' && monitors.length > 0) return step;
    return unknown(
      step.asks,
      step.asks === 'policy' ? (view.policies.fault ?? fault) : `${fault}, which decides as well`,
    );
  });
}

function podStep(pod: PodWithStatus): ExplainStep {
  const phase = pod.status?.phase ?? 'Unknown';
  const where = `on ${pod.spec?.nodeName}`;
  if (phase === 'Running') return yes('pod', `runs ${where}`);
  return note('pod', `is ${phase} ${where}`, 'processes are found once they run');
}

function conflictStep({ monitors }: PodView, { compiled }: Known): ExplainStep {
  const asks = 'conflicts';
  if (!compiled) return unknown(asks, 'not everything that monitors are compiled from could be read');
  const rows = monitors.flatMap(({ path }) =>
    (compiled.monitors.get(path)?.conflicts ?? []).map(
      (c) => `${path} loses ${c.fields.join(', ')} to ${c.with} (${c.resolution})`,
    ),
  );
  return rows.length === 0
    ? yes(asks, 'no monitor of the pod loses a field')
    : note(asks, rows.join('; '), 'nothing to do, if this is intended');
}

function limitStep({ monitors }: PodView, { view }: Known): ExplainStep {
  const asks = 'limits';
  const paths = new Set(monitors.map(({ path }) => path));
  const held = itemsOf(view.monitors).flatMap(({ metadata, status }) => {
    const path = `${metadata.namespace}/${metadata.name}`;
    const found = status?.conditions?.find((c) => c.type === 'LimitsExceeded' && c.status === 'True');
    return paths.has(path) && found ? [`TrafficMonitor ${path}: ${found.reason}, ${found.message}`] : [];
  });
  if (held.length === 0) return yes(asks, 'no limit holds back data of its monitors');
  return note(asks, held.join('; '), 'raise limits of the monitor or the policy, or drop labels');
}

function seriesStep(
  counts: readonly SeriesCount[],
  pod: PodFacts,
  decided: PodView,
  { facts, view }: Known,
): ExplainStep {
  const asks = 'data';
  if (facts.fault !== undefined) return unknown(asks, `the query server could not be asked: ${facts.fault}`);
  const flows = seriesCounts(flowsOf(facts.series, pod.namespace, ownerName(pod)));
  const besides = flows.length > 0 ? `; flows of ${ownerName(pod)}: ${countText(flows, view.now)}` : '';
  if (counts.length > 0) return yes(asks, `${countText(counts, view.now)}${besides}`);
  if (facts.missingNodes.includes(pod.nodeName))
    return unknown(asks, `the agent of ${pod.nodeName} did not answer the query server`);
  return (
    noMetricsStep(decided, pod) ??
    no(
      asks,
      `no series of the pod in the last 5 minutes${besides}`,
      'send a request to the pod (a new process is seen after about 30 s); see the steps above that are unknown (?)',
    )
  );
}

const shown = 4;

function countText(counts: readonly SeriesCount[], now: number): string {
  const total = counts.reduce((sum, { series }) => sum + series, 0);
  const last = Math.max(...counts.map(({ lastMs }) => lastMs));
  const names = counts.slice(0, shown).map(({ metric, series }) => `${metric} ${series}`);
  const more = counts.length > shown ? ` and ${counts.length - shown} more` : '';
  return `${total} series (${names.join(', ')}${more}), last sample ${ago(now - last)} ago`;
}
