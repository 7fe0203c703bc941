import type { CaptureConfig } from '../../capture/index.ts';
import { fallbackRules, type PodRules } from '../mapping/monitor-rules.ts';
import { SpanRate } from './span-rate.ts';

/** A monitor's ceiling on spans, and what it cost since the config came into force. */
export interface MonitorSpans {
  readonly namespace: string;
  readonly name: string;
  readonly rate: SpanRate | null;
  dropped: number;
}

/** The rules for spans of one pod, strongest first. */
export interface SpanRules {
  readonly rules: readonly PodRules[];
  readonly monitors: readonly MonitorSpans[];
  /** Headers that any of its monitors asked for. */
  readonly headers: ReadonlySet<string>;
}

/** The rules of a config for spans, by pod. */
export class SpanRuleIndex {
  readonly monitors: readonly MonitorSpans[];
  readonly node: SpanRate | null;
  readonly #byPod = new Map<string, { rules: PodRules[]; monitors: MonitorSpans[]; headers: Set<string> }>();
  readonly #fallback: NonNullable<CaptureConfig['fallback']>;
  readonly #byNamespace = new Map<string, SpanRules>();

  constructor(config: Pick<CaptureConfig, 'monitors' | 'fallback' | 'limits'>, nowMs: number) {
    const { maxSpansPerSecondPerNode: perNode } = config.limits;
    this.#fallback = config.fallback ?? [];
    this.node = perNode === undefined ? null : new SpanRate(perNode, nowMs);
    this.monitors = config.monitors.map((rule) => {
      const { namespace, name, maxSpansPerSecond: max } = rule;
      const spans = { namespace, name, rate: max === undefined ? null : new SpanRate(max, nowMs), dropped: 0 };
      for (const pod of rule.pods) {
        const key = `${namespace}/${pod}`;
        const found = this.#byPod.get(key) ?? { rules: [], monitors: [], headers: new Set<string>() };
        found.rules.push(rule);
        found.monitors.push(spans);
        for (const header of rule.headers ?? []) found.headers.add(header);
        this.#byPod.set(key, found);
      }
      return spans;
    });
  }

  of(namespace: string, pod: string): SpanRules {
    const found = this.#byPod.get(`${namespace}/${pod}`);
    if (found) return found;
    let known = this.#byNamespace.get(namespace);
    if (!known) {
      known = { rules: fallbackRules(this.#fallback, namespace), monitors: [], headers: new Set() };
      this.#byNamespace.set(namespace, known);
    }
    return known;
  }
}
