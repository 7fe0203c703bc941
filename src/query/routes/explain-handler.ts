import { namespaceLabel } from '../../api/labels.ts';
import type { TrafficMonitor, ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import type { CompileInput } from '../../capture/index.ts';
import { instrumentVersion, platformDefaults } from '../../render/index.ts';
import type { IndexedPod } from '../addresses/address-index.ts';
import { explainedMs, explainWorkload } from '../objects/explain-workload.ts';
import { selectorText } from '../custom-metrics/providers/selectors.ts';
import { ApiError, invalidParameter } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Call, Handler, HandlerDeps } from '../api/call.ts';
import { noExtras, sendSuccess, type Extras } from '../api/respond.ts';
import { absences, reviewed } from './caller-view.ts';
import { rateSamples } from './topology-handler.ts';

/** At most this many pods are explained: the further pods of a large workload are like the first ones. */
const mostPods = 50;

/** `/api/v1/explain`: the policies and monitors that apply to a workload's pods, and the obstacles to their data. */
export const explain: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const [namespace, workload, kind] = ['namespace', 'workload', 'kind'].map((name) => {
    const value = params.get(name) ?? '';
    if (value === '') throw invalidParameter(name, 'is missing');
    return value;
  }) as [string, string, string];
  if (!deps.objects) throw new ApiError('unavailable', 'there is no API server to read objects from');
  await mayExplain(namespace, call, deps);
  const pods = [...deps.addresses.podsOf(namespace)]
    .filter((pod) => {
      const owner = deps.addresses.workloadOf(pod);
      return !pod.ended && pod.nodeName !== '' && owner.kind === kind && owner.name === workload;
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, mostPods);
  const { series, ...extras } = await seriesOf(pods, namespace, call, deps);
  const data = explainWorkload(pods, {
    input: inputOf(namespace, deps),
    missing: absences(deps, extras.missingNodes),
    series,
  });
  await sendSuccess(req, res, [JSON.stringify(data)], extras);
};

/** Number of series of each pod. */
async function seriesOf(
  pods: readonly IndexedPod[],
  namespace: string,
  call: Call,
  deps: HandlerDeps,
): Promise<Extras & { readonly series: ReadonlyMap<string, number> }> {
  // Without names the matcher of pods would be empty, and match every series of the namespace that has no pod.
  if (pods.length === 0) return { ...noExtras, series: new Map() };
  const selector = selectorText('', [
    { type: '=', name: namespaceLabel, value: namespace },
    { type: '=~', name: 'k8s_pod_name', value: pods.map(({ name }) => name.replaceAll('.', '\\.')).join('|') },
  ]);
  const counted = `count by (k8s_pod_name) (${selector})`;
  const request = { ...runRequest(call), lookbackDeltaMs: explainedMs };
  const { result, warnings, missingNodes } = await deps.runner.instant(counted, deps.clock.now(), request);
  const counts = rateSamples(result.value).map(({ labels, value }) => [labels['k8s_pod_name'] ?? '', value] as const);
  return { warnings, infos: [], missingNodes, series: new Map(counts) };
}

/**
 * Errors: ApiError `forbidden` that names the lists that the caller may not see: the answer is computed from the lists
 * of pods, monitors, policies and nodes.
 */
async function mayExplain(namespace: string, call: Call, deps: HandlerDeps): Promise<void> {
  const { access } = deps.objects!;
  const { identity } = call;
  const [pods, monitors, policies, nodes] = await reviewed(
    () =>
      Promise.all([
        access.pods(identity),
        access.objects(identity, 'TrafficMonitor'),
        access.objects(identity, 'ClusterTrafficPolicy'),
        access.objects(identity, 'Node'),
      ]),
    deps,
  );
  const refused = [
    ...(call.namespaces?.has(namespace) === false || pods?.has(namespace) === false ? [`pods in ${namespace}`] : []),
    ...(monitors?.has(namespace) === false ? [`trafficmonitors in ${namespace}`] : []),
    ...(policies === undefined ? [] : ['clustertrafficpolicies']),
    ...(nodes === undefined ? [] : ['nodes']),
  ];
  if (refused.length > 0) throw new ApiError('forbidden', `you may not list ${refused.join(', ')}`);
}

/** The input that the operator compiles, with the operator's settings: it passes its flags on to the query server. */
function inputOf(namespace: string, { objects, settings }: HandlerDeps): CompileInput {
  const { kinds, namespaces } = objects!;
  const monitors = kinds.TrafficMonitor.list() as unknown as TrafficMonitor[];
  return {
    environment: {
      instrumentVersion: settings.instrumentVersion || instrumentVersion(platformDefaults),
      namespace: settings.namespace,
      ports: settings.obiInstrumentPorts,
      allowExtraConfig: settings.allowExtraConfig,
    },
    monitors: monitors.filter(({ metadata }) => metadata.namespace === namespace),
    policies: kinds.ClusterTrafficPolicy.list() as unknown as ClusterTrafficPolicy[],
    namespaces: namespaces(),
    nodes: kinds.Node.list().map(({ metadata: { name = '', labels = {} } }) => ({ name, labels })),
    pods: [],
  };
}
