import type { ExplainStep, PodExplanation, WorkloadExplanation } from '../../api/page/types.ts';
import { captureSteps, no, noMetricsStep, unknown, yes } from '../../capture/explain/index.ts';
import { commonSettings, podView, silencedMonitors, type CompileInput, type PodView } from '../../capture/index.ts';
import type { IndexedPod } from '../addresses/address-index.ts';

/**
 * A pod has data when one of its series has a sample within this time before now, whatever the lookback of queries.
 * Units: ms. The plugin uses the same time, so that `svc explain` and the page agree.
 */
export const explainedMs = 5 * 60_000;

/** The inputs of an explanation other than the pods. */
export interface ExplainInput {
  /** The inputs of the operator's compile for the namespace of the pods. */
  readonly input: CompileInput;
  /** Why the agent of a node does not answer; undefined when it does. */
  readonly missing: (node: string) => string | undefined;
  /** Number of series with a sample in the last `explainedMs`, by pod name. */
  readonly series: ReadonlyMap<string, number>;
}

/**
 * The policies and monitors that apply to the pods of one workload, by the rules of the operator's compile.
 * Shape: pure. Facts that only the operator and the instrument have (config, kernel, conflicts) are shown by `kubectl
 * svc explain`.
 */
export function explainWorkload(pods: readonly IndexedPod[], around: ExplainInput): WorkloadExplanation {
  const { input, series } = around;
  const { instrumentVersion, ports: instrumentPorts, allowExtraConfig = false } = input.environment;
  const silenced = silencedMonitors(input);
  const views = pods.map((pod) => podView(input, pod));
  return {
    pods: pods.map((pod, i): PodExplanation => {
      const found = series.get(pod.name) ?? 0;
      const objects = captureSteps(views[i]!, pod.ports ?? [], silenced, found > 0);
      return { pod: pod.name, node: pod.nodeName, steps: [...objects, ...dataSteps(pod, views[i]!, found, around)] };
    }),
    settings: commonSettings(views).map(({ path, value = null, from }) => ({ path, value, from })),
    operator: { instrumentVersion, instrumentPorts, allowExtraConfig },
  };
}

function dataSteps(pod: IndexedPod, view: PodView, found: number, { missing }: ExplainInput): ExplainStep[] {
  const node = pod.nodeName;
  const absent = missing(node);
  const agent =
    absent === undefined
      ? yes('agent', `the agent of ${node} answers`)
      : no('agent', `${node}: ${absent}`, 'look at the node: kubectl svc status');
  if (found > 0) return [agent, yes('data', `${found} series`)];
  if (absent !== undefined) return [agent, unknown('data', `unknown without the agent of ${node}`)];
  const way = 'send a request to the pod; a new process is seen after about 30 s';
  return [agent, noMetricsStep(view, pod) ?? no('data', 'no series of the pod in the last 5 minutes', way)];
}
