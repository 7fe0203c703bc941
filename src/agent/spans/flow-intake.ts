import type { Clock } from '../../base/clock.ts';
import { rfc3339Nano } from '../../stream/index.ts';
import type { Attribute, MetricsRequest } from '../otlp/model.ts';
import { valueText } from '../mapping/label-set.ts';
import { flowRecord } from './flow-record.ts';
import type { StreamRing } from './stream-ring.ts';

/** Flows whose last count is remembered. Beyond it the oldest are forgotten, and their next report is their first. */
const maxFlows = 20_000;

/**
 * Makes items of the stream from the instrument's flow counters: for each report of a flow, the bytes since the one
 * before. The first report of a flow that began before this agent counts in full when its start time is known to be
 * after the agent's own start, and not at all otherwise: nobody knows when those bytes went.
 */
export class FlowIntake {
  readonly #ring: StreamRing;
  readonly #clock: Clock;
  readonly #startedNs: number;
  readonly #last = new Map<string, { value: number; startNs: number }>();

  constructor(ring: StreamRing, clock: Clock) {
    this.#ring = ring;
    this.#clock = clock;
    this.#startedNs = clock.now() * 1e6;
  }

  take(request: MetricsRequest): void {
    for (const { scopes } of request.resources) {
      for (const { metrics } of scopes) {
        for (const { name, data } of metrics) {
          if (data?.kind !== 'sum' || !flowMetrics.has(name)) continue;
          for (const point of data.points) {
            if (point.noValue || !Number.isFinite(point.value)) continue;
            const bytes = data.temporality === 'delta' ? point.value : this.#increment(point);
            if (bytes > 0) this.#push(point, bytes);
          }
        }
      }
    }
  }

  #increment(point: { attributes: readonly Attribute[]; value: number; startNs: number }): number {
    const key = keyOf(point.attributes);
    const before = this.#last.get(key);
    this.#last.delete(key);
    if (this.#last.size >= maxFlows) this.#last.delete(this.#last.keys().next().value!);
    this.#last.set(key, { value: point.value, startNs: point.startNs });
    if (!before) return point.startNs >= this.#startedNs ? point.value : 0;
    const restarted = point.value < before.value || (point.startNs !== before.startNs && point.startNs !== 0);
    return restarted ? point.value : point.value - before.value;
  }

  #push(point: { attributes: readonly Attribute[]; timeNs: number }, bytes: number): void {
    const now = this.#clock.now();
    const timeMs = Math.floor(point.timeNs / 1e6);
    const at = timeMs > 0 ? Math.min(timeMs, now) : now;
    const flow = flowRecord(point.attributes, bytes, rfc3339Nano(BigInt(at) * 1_000_000n));
    this.#ring.push({ timeMs: at, bytes: 400 + 60 * point.attributes.length, flow }, now);
  }
}

const flowMetrics: ReadonlySet<string> = new Set(['obi.network.flow.bytes', 'beyla.network.flow.bytes']);

const keys = new WeakMap<readonly Attribute[], string>();

function keyOf(attributes: readonly Attribute[]): string {
  let key = keys.get(attributes);
  if (key === undefined) {
    key = attributes
      .map(({ key: name, value }) => `${name}\u0000${valueText(value)}`)
      .sort()
      .join('\u0001');
    keys.set(attributes, key);
  }
  return key;
}
