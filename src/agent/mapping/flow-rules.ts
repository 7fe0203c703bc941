import type { PodIndex } from '../identity/pod-index.ts';
import { metricFamily } from './metric-families.ts';
import { fallbackRules, type Fallback, type PodRules, type StreamRules, streamRules } from './monitor-rules.ts';
import type { SeriesLimits } from './series-limits.ts';
import type { StreamSubject } from './stream-subject.ts';

/** What the rules of a stream with two ends depend on. */
export interface FlowContext {
  readonly fallback: Fallback;
  readonly limits: SeriesLimits;
  readonly pods: PodIndex;
}

/**
 * The rules of a stream that describes flows or connections, and so has two ends.
 * TCP statistics are kept if a rule of an end on this node names their family, because they are off unless a rule asks
 * for them. Flows are always kept: the `network` of a policy decides whether there are any.
 */
export function flowRules(otlpName: string, subject: StreamSubject, context: FlowContext): StreamRules {
  if (metricFamily(otlpName) === 'TCPStats') return statRules(endRules(subject, context));
  return { ...streamRules(fallbackRules(context.fallback, ''), anyFlow), keep: true };
}

const anyFlow = { family: null, protocol: null, paths: [] };
const dropped: StreamRules = { keep: false, dropLabels: [], podLabels: [], intervalMs: 0 };

/** Two ends may have rules of different namespaces: a stream loses only what all rules that want it leave out. */
function statRules(rules: readonly PodRules[]): StreamRules {
  const wanting = rules.filter(({ families }) => families?.includes('TCPStats'));
  if (wanting.length === 0) return dropped;
  return {
    keep: true,
    dropLabels: (wanting[0]!.dropLabels ?? []).filter((name) => wanting.every((r) => r.dropLabels?.includes(name))),
    podLabels: [],
    intervalMs: Math.min(...wanting.map(({ intervalMs = 0 }) => intervalMs)),
  };
}

/**
 * The rules of the pods on this node that the ends of a stream name, by themselves or by their owners. The rules of the
 * ends' namespaces if it names none, as when the pods have left. The container and the port of an end are unknown.
 */
function endRules({ valueOf, charged }: StreamSubject, { fallback, limits, pods }: FlowContext): PodRules[] {
  const ends = ['src', 'dst'].flatMap((side) => {
    const said = (key: string): string => valueOf(`k8s.${side}.${key}`);
    if (said('node.name') !== pods.node) return [];
    return [...pods.ofOwner(said('namespace'), said('name') || said('owner.name'))];
  });
  const ruled = (own: readonly { readonly rule: PodRules }[], namespace: string): readonly PodRules[] =>
    own.length > 0 ? own.map(({ rule }) => rule) : fallbackRules(fallback, namespace);
  if (ends.length > 0) return ends.flatMap((pod) => ruled(limits.monitorsOf(pod.namespace, pod.name), pod.namespace));
  return charged.flatMap((namespace) =>
    ruled(
      limits.monitors.filter(({ rule }) => rule.namespace === namespace),
      namespace,
    ),
  );
}
