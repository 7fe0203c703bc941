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
/** The pods of a node that are remembered: each monitor's rule may repeat their names, and a config has a limit. */
const maxPerNode = 1_000;
/**
 * So many of them are of one namespace at most: one that deletes many pods must not make configs too large. It is more
 * than the pods that a node usually has, so that a drain forgets none.
 */
const maxPerNamespace = 200;

interface Departed {
  readonly pod: PodFacts;
  readonly untilMs: number;
}

/**
 * The pods that were deleted or have ended lately. Their last data reaches the agent after that, so the rules of their
 * node name them for another `rememberMs`. A pod that takes the name of such a pod on its node replaces it. A pod that
 * was deleted before it had an address has no data.
 * Units: all times are ms of the monotonic clock.
 */
export class DepartedPods {
  /** Node → `namespace/name` → the pod; the pods of a node in the order in which they left. */
  readonly #nodes = new Map<string, Map<string, Departed>>();
  #untilMs = Infinity;

  note({ type, old, object }: SourceEvent<PodObject>, nowMs: number): void {
    const before = old ? podFacts(old) : null;
    const now = type === 'deleted' ? null : podFacts(object);
    if (now) this.#nodes.get(now.nodeName)?.delete(pathOf(now));
    // A pod is Pending also while its init containers and sidecars run; before that it has no address.
    const neverRan = type === 'deleted' && old?.status?.phase === 'Pending' && old.status.podIP === undefined;
    if (before && before.nodeName !== now?.nodeName && !neverRan) this.#add(before, nowMs);
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
    const pods = this.#nodes.get(pod.nodeName) ?? new Map<string, Departed>();
    this.#nodes.set(pod.nodeName, pods);
    const untilMs = Math.ceil((nowMs + rememberMs) / stepMs) * stepMs;
    pods.delete(pathOf(pod));
    pods.set(pathOf(pod), { pod, untilMs });
    const perNamespace = Map.groupBy(pods.values(), (departed) => departed.pod.namespace);
    if (perNamespace.get(pod.namespace)!.length > maxPerNamespace) forgetOldest(pods, perNamespace.get(pod.namespace)!);
    else if (pods.size > maxPerNode) forgetOldest(pods, mostOf(perNamespace.values()));
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

const mostOf = (groups: Iterable<Departed[]>): Departed[] =>
  [...groups].reduce((a, b) => (b.length > a.length ? b : a));

function forgetOldest(pods: Map<string, Departed>, [oldest]: readonly Departed[]): void {
  if (oldest) pods.delete(pathOf(oldest.pod));
}

const pathOf = ({ namespace, name }: PodFacts): string => `${namespace}/${name}`;
