import type { PodFacts } from '../../capture/index.ts';
import type { SourceEvent } from '../../runtime/index.ts';
import { podFacts, type PodObject } from './facts.ts';

/**
 * How long a pod that left is remembered. The instrument reports the metrics of a process for five minutes after its end
 * (the file's `ttl`), and the agent ends their series at most five minutes later. Units: ms.
 */
const rememberMs = 600_000;
/** Pods are forgotten at multiples of this time, so that many of them cause one compile. Units: ms. */
const stepMs = 30_000;
/** The newest pods of a node that are remembered: an agent refuses a rule with 10,000 pods. */
const maxPerNode = 1_000;

/**
 * The pods that were deleted or have ended lately. Their last data reaches the agent after that, so the rules of their
 * node name them for another `rememberMs`. A pod that takes the name of such a pod on its node replaces it.
 * Units: all times are ms of the monotonic clock.
 */
export class DepartedPods {
  /** Node → `namespace/name` → the pod; the pods of a node in the order in which they left. */
  readonly #nodes = new Map<string, Map<string, { pod: PodFacts; untilMs: number }>>();
  #untilMs = Infinity;

  note({ type, old, object }: SourceEvent<PodObject>, nowMs: number): void {
    const before = old ? podFacts(old) : null;
    const now = type === 'deleted' ? null : podFacts(object);
    if (now) this.#nodes.get(now.nodeName)?.delete(pathOf(now));
    if (before && before.nodeName !== now?.nodeName) this.#add(before, nowMs);
  }

  list(nowMs: number): PodFacts[] {
    this.#sweep(nowMs);
    return [...this.#nodes.values()].flatMap((pods) => [...pods.values()].map(({ pod }) => pod));
  }

  /** When the next pod is forgotten; Infinity for none. */
  get untilMs(): number {
    return this.#untilMs;
  }

  #add(pod: PodFacts, nowMs: number): void {
    this.#sweep(nowMs);
    const pods = this.#nodes.get(pod.nodeName) ?? new Map<string, { pod: PodFacts; untilMs: number }>();
    this.#nodes.set(pod.nodeName, pods);
    const untilMs = Math.ceil((nowMs + rememberMs) / stepMs) * stepMs;
    pods.delete(pathOf(pod));
    pods.set(pathOf(pod), { pod, untilMs });
    if (pods.size > maxPerNode) pods.delete(pods.keys().next().value!);
    this.#untilMs = Math.min(this.#untilMs, untilMs);
  }

  #sweep(nowMs: number): void {
    if (nowMs < this.#untilMs) return;
    this.#untilMs = Infinity;
    for (const [node, pods] of this.#nodes) {
      for (const [path, { untilMs }] of pods) {
        if (untilMs <= nowMs) pods.delete(path);
        else this.#untilMs = Math.min(this.#untilMs, untilMs);
      }
      if (pods.size === 0) this.#nodes.delete(node);
    }
  }
}

const pathOf = ({ namespace, name }: PodFacts): string => `${namespace}/${name}`;
