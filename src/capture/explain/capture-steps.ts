import type { ExplainStep } from '../../api/page/types.ts';
import type { MetricFamily } from '../../api/v1alpha1/index.ts';
import type { PodView } from '../compile/select/pod-view.ts';
import { wholeExclusion } from '../compile/select/exclusions.ts';
import type { PodFacts } from '../compile/types.ts';
import { holdsPort } from '../ports.ts';
import { no, note, unknown, yes } from './step.ts';

/** A port that a pod declares; its processes may listen on other ports too. */
export interface DeclaredPort {
  readonly container: string;
  readonly port: number;
}

/** A container of a pod's spec. */
interface ContainerSpec {
  readonly name?: string;
  readonly ports?: readonly { readonly containerPort?: number; readonly protocol?: string }[];
}

/** The TCP ports that containers declare. */
export function declaredPorts(containers: readonly ContainerSpec[]): DeclaredPort[] {
  return containers.flatMap(({ name = '', ports = [] }) =>
    ports.flatMap(({ containerPort, protocol = 'TCP' }) =>
      protocol === 'TCP' && containerPort !== undefined ? [{ container: name, port: containerPort }] : [],
    ),
  );
}

/**
 * Explains whether a pod is captured, in the steps that follow from objects alone: policy, exclusions, selection,
 * ports, signals. Pure.
 * `silenced`: path of a monitor that captures nothing → why. `hasData`: whether there are series of the pod. If so, the
 * pod listens on a captured port, whatever ports it declares. Where no metrics of the pod are kept, that stays unknown.
 */
export function captureSteps(
  view: PodView,
  declared: readonly DeclaredPort[],
  silenced: ReadonlyMap<string, string>,
  hasData: boolean,
): ExplainStep[] {
  return [
    policyStep(view),
    exclusionStep(view),
    selectionStep(view),
    portStep(view, declared, hasData),
    signalStep(view, silenced),
  ];
}

/** The step `data` of a pod whose settings keep no metrics that would name it; null for any other pod. */
export function noMetricsStep(view: PodView, { namespace, name }: PodFacts): ExplainStep | null {
  const reason = whyNoSeries(view);
  if (reason === null) return null;
  const spans = isOff(view, 'signals.spans') ? '' : `; kubectl svc observe --pod ${namespace}/${name} shows spans`;
  return unknown('data', `${reason}, so the pod has no series${spans}`);
}

/** The families whose series name two ends, and no pod as their own. */
const twoEnded: readonly unknown[] = ['NetworkFlow', 'TCPStats'] satisfies MetricFamily[];

/** Why the settings of a pod leave it without series of its own; null where they do not. */
function whyNoSeries(view: PodView): string | null {
  if (isOff(view, 'signals.metrics')) return 'metrics are off';
  const families = view.settings.find(({ path }) => path === 'metrics.families')?.value;
  if (!Array.isArray(families) || !families.every((family) => twoEnded.includes(family))) return null;
  return `only ${families.join(' and ')} of metrics.families are kept`;
}

const isOff = ({ settings }: PodView, signal: 'signals.metrics' | 'signals.spans'): boolean =>
  settings.some(({ path, value }) => path === signal && value === 'Disabled');

function policyStep({ policies, otherPolicies, pausedBy }: PodView): ExplainStep {
  const asks = 'policy';
  const others = otherPolicies.map(({ name, why }) => `${name}: ${why}`).join('; ');
  const rest = others === '' ? '' : ` (not ${others})`;
  if (pausedBy !== null) {
    return no(
      asks,
      `ClusterTrafficPolicy/${pausedBy} pauses capture here`,
      `set paused: false on ClusterTrafficPolicy ${pausedBy}`,
    );
  }
  if (policies.length === 0) return yes(asks, `no policy applies here: built-in settings are in force${rest}`);
  const [strongest, ...weaker] = policies;
  const below = weaker.length > 0 ? `, then ${weaker.join(', ')}` : '';
  return yes(asks, `${strongest} is the strongest${below}${rest}`);
}

function exclusionStep({ exclusions }: PodView): ExplainStep {
  const asks = 'not excluded';
  const whole = wholeExclusion(exclusions);
  if (whole) {
    return no(
      asks,
      `excluded by ${whole.by}`,
      'exclusions always win: narrow the one that is named, or leave the pod out on purpose',
    );
  }
  if (exclusions.length === 0) return yes(asks, 'nothing excludes it');
  const parts = exclusions.map(({ by, ports, executables, containers }) => {
    const of = [
      ...(ports ? [`port ${ports}`] : []),
      ...(executables ? [`executable ${executables.join(', ')}`] : []),
      ...(containers ? [`container ${containers.join(', ')}`] : []),
    ];
    return `${by} excludes processes with ${of.join(' and ')}`;
  });
  return note(asks, parts.join('; '));
}

function selectionStep({ monitors, otherMonitors, base }: PodView): ExplainStep {
  const asks = 'selected';
  if (monitors.length > 0) {
    const [strongest, ...weaker] = monitors;
    const below = weaker.length > 0 ? `, then ${weaker.map(({ path }) => path).join(', ')}` : '';
    return yes(asks, `TrafficMonitor ${strongest!.path} selects it${below}`);
  }
  const near = otherMonitors.find(({ selects }) => selects) ?? otherMonitors[0];
  const why = near ? `; TrafficMonitor ${near.path}: ${near.why}` : '';
  const by = base.by === null ? 'built in' : `ClusterTrafficPolicy/${base.by}`;
  if (base.mode !== 'AllowList') {
    const what = base.mode === 'All' ? 'every process' : `processes on ${base.ports}`;
    return yes(asks, `no monitor does; ${what} are captured without one (${by})${why}`);
  }
  return no(
    asks,
    `no TrafficMonitor selects it, and capture.mode of ${by} is AllowList${why}`,
    near
      ? `change TrafficMonitor ${near.path}, or create one that selects the pod`
      : 'create a TrafficMonitor that selects the pod',
  );
}

function portStep(view: PodView, declared: readonly DeclaredPort[], hasData: boolean): ExplainStep {
  const { ports, monitors, base } = view;
  const asks = 'port';
  if (ports === null) return yes(asks, 'any port is captured');
  if (ports === '') return unknown(asks, 'no port is captured: see above');
  const names = declared.map(({ container, port }) => `${port} (${container})`);
  if (declared.length === 0)
    return unknown(asks, `the pod declares no ports; processes that listen on ${ports} are captured`);
  const missing = declared.filter(({ port }) => !holdsPort(ports, port));
  if (missing.length === 0) return yes(asks, `${names.join(', ')} in ${ports}`);
  const left = missing.map(({ container, port }) => `${port} (${container})`).join(', ');
  const where = monitors[0]
    ? `spec.ports of TrafficMonitor ${monitors[0].path}`
    : base.by === null
      ? 'spec.ports of a TrafficMonitor that selects the pod'
      : `capture.ports of ClusterTrafficPolicy ${base.by}, or spec.ports of a TrafficMonitor`;
  const way = `add ${missing.map(({ port }) => port).join(', ')} to ${where}`;
  const fact = `${left} is not among ${ports}`;
  const hasNone = !hasData && whyNoSeries(view) === null;
  return missing.length === declared.length && hasNone ? no(asks, fact, way) : note(asks, fact, way);
}

function signalStep({ settings, monitors }: PodView, silenced: ReadonlyMap<string, string>): ExplainStep {
  const asks = 'signals';
  const of = (path: string) => settings.find((setting) => setting.path === path);
  const off = ['signals.metrics', 'signals.spans'].map(of).filter((setting) => setting?.value === 'Disabled');
  const orphan = monitors.find(({ path }) => silenced.has(path));
  if (orphan) {
    const why = silenced.get(orphan.path)!;
    return no(
      asks,
      `TrafficMonitor ${orphan.path} captures nothing: ${why}`,
      'change the overrides of the policy, or what the monitor asks for',
    );
  }
  if (off.length === 2) {
    return no(
      asks,
      `metrics and spans are Disabled by ${off.map((s) => s!.from).join(', ')}`,
      'enable signals.metrics or signals.spans there',
    );
  }
  if (off.length === 1) {
    const left = off[0]!.path === 'signals.spans' ? 'metrics' : 'spans';
    return yes(asks, `${left}; ${off[0]!.path} is Disabled by ${off[0]!.from}`);
  }
  return yes(asks, 'metrics and spans');
}
