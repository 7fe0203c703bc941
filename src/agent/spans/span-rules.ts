import { appendTo } from '../../base/collections/counts.ts';
import type { CaptureConfig, CaptureMonitorRule } from '../../capture/index.ts';
import { coversSender, fallbackRules, type PodRules } from '../mapping/monitor-rules.ts';
import { NodeSpanRate, SpanRate } from './span-rate.ts';
import type { TailRule } from './tail-sampler.ts';

/** A monitor's limit on spans, and the number refused since the config came into force. */
export interface MonitorSpans {
  readonly namespace: string;
  readonly name: string;
  readonly rate: SpanRate | null;
  dropped: number;
}

/** The rules for spans of one pod, strongest first. */
export interface SpanRules {
  readonly rules: readonly PodRules[];
  /** How whole traces are chosen; null where the agent keeps what the instrument has sampled. */
  readonly tail: TailRule | null;
  /** The share of traces to keep of a process that the instrument samples by another rule; null for all others. */
  readonly ratio: string | null;
  readonly monitors: readonly MonitorSpans[];
  /** Headers that any of the pod's monitors asked for. */
  readonly headers: ReadonlySet<string>;
}

interface PodMonitor {
  readonly rule: CaptureMonitorRule;
  readonly spans: MonitorSpans;
}

/** The rules for spans that a capture config contains, by pod. */
export class SpanRuleIndex {
  readonly monitors: readonly MonitorSpans[];
  readonly node: NodeSpanRate | null;
  readonly #byPod = new Map<string, PodMonitor[]>();
  readonly #fallback: NonNullable<CaptureConfig['fallback']>;
  /**
   * Pod, container and port of a sender → its rules. Entries are created on demand; there are few, because a pod has
   * few containers and ports.
   */
  readonly #bySender = new Map<string, SpanRules>();
  readonly #byNamespace = new Map<string, SpanRules>();

  constructor(config: Pick<CaptureConfig, 'monitors' | 'fallback' | 'limits'>, nowMs: number) {
    const { maxSpansPerSecondPerNode: perNode } = config.limits;
    this.#fallback = config.fallback ?? [];
    this.node = perNode === undefined ? null : new NodeSpanRate(perNode, nowMs);
    this.monitors = config.monitors.map((rule) => {
      const { namespace, name, maxSpansPerSecond: max } = rule;
      const spans = { namespace, name, rate: max === undefined ? null : new SpanRate(max, nowMs), dropped: 0 };
      for (const pod of rule.pods) appendTo(this.#byPod, `${namespace}/${pod}`, { rule, spans });
      return spans;
    });
  }

  /** The rules for the spans of a container and a port. `port` is null for spans that have none, such as a client's. */
  of(namespace: string, pod: string, container: string, port: number | null): SpanRules {
    const ofPod = this.#byPod.get(`${namespace}/${pod}`);
    if (!ofPod) return this.#ofNamespace(namespace);
    const key = `${namespace}/${pod}/${container}/${port ?? ''}`;
    let known = this.#bySender.get(key);
    if (!known) {
      const covering = ofPod.filter(({ rule }) => coversSender(rule, container, port));
      const own = covering.length > 0 ? joined(covering) : this.#ofNamespace(namespace);
      const sampledBy = ofPod.find(({ rule }) => coversSender(rule, container, null))?.rule;
      known = { ...own, ...samplingOf(own.rules[0], sampledBy) };
      if (this.#bySender.size >= sendersKept) this.#bySender.clear();
      this.#bySender.set(key, known);
    }
    return known;
  }

  #ofNamespace(namespace: string): SpanRules {
    let known = this.#byNamespace.get(namespace);
    if (!known) {
      const rules = fallbackRules(this.#fallback, namespace);
      known = { rules, ...samplingOf(rules[0]), monitors: [], headers: new Set() };
      this.#byNamespace.set(namespace, known);
    }
    return known;
  }
}

const sendersKept = 10_000;

/**
 * What the agent chooses of the spans under a rule. A rule that keeps neither failed nor slow spans has only a ratio.
 * The instrument has applied it, except where it samples the process by another rule: by that of the strongest monitor
 * that selects it, `sampledBy`, which holds for all of its ports.
 */
function samplingOf(rule: PodRules | undefined, sampledBy = rule): Pick<SpanRules, 'tail' | 'ratio'> {
  const tail = rule?.tail;
  if (!tail) return { tail: null, ratio: null };
  if (tail.keepErrors || tail.keepSlowerThanMs !== undefined) return { tail, ratio: null };
  return { tail: null, ratio: sampledBy === rule ? null : tail.ratio };
}

function joined(covering: readonly PodMonitor[]): Omit<SpanRules, 'tail' | 'ratio'> {
  return {
    rules: covering.map(({ rule }) => rule),
    monitors: covering.map(({ spans }) => spans),
    headers: new Set(covering.flatMap(({ rule }) => rule.headers ?? [])),
  };
}
