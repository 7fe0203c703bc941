import type { Clock } from '../../base/clock.ts';
import type { CaptureConfig } from '../../capture/index.ts';
import { rfc3339Nano, type FlowEnd, type FlowRecord } from '../../stream/index.ts';
import type { Identity } from '../identity/identity.ts';
import type { OtlpConsumer } from '../otlp/consumer.ts';
import type { Attribute, MetricsRequest } from '../otlp/model.ts';
import { attributesKey } from '../mapping/attributes-key.ts';
import { attributeText, memoryOf, truncate, valueText } from '../mapping/label-set.ts';
import { Redactors } from '../redaction/redactor.ts';
import { fittingAttributes, maxTextLength } from './record-size.ts';
import { FairQueues, type Held } from './fair-queues.ts';
import type { StreamRing } from './stream-ring.ts';

/**
 * Maximum number of flows whose last count is remembered. Beyond it, the namespace with the most flows loses its oldest
 * one.
 */
const maxFlows = 20_000;

interface Counted {
  readonly key: string;
  readonly value: number;
  readonly startNs: number;
}

/**
 * Makes stream items from the instrument's flow counters: for each report of a flow, the bytes since the previous
 * report, between ends that were checked against the pods of this node, redacted by the rules of both ends. The first
 * report of a flow counts in full if the flow began after this agent, and later than every removed flow of its
 * namespace: then no earlier report of it was missed or forgotten. Otherwise it counts nothing, because the time of
 * those bytes is unknown.
 */
export class FlowIntake {
  readonly #ring: StreamRing;
  readonly #clock: Clock;
  readonly #identity: Identity;
  readonly #startedNs: number;
  readonly #last = new Map<string, Held<Counted>>();
  readonly #memory = new FairQueues<Counted>();
  /** The latest start of a removed flow, by namespace. */
  readonly #forgotten = new Map<string, number>();
  #redactors = new Redactors();

  constructor(ring: StreamRing, clock: Clock, identity: Identity) {
    this.#ring = ring;
    this.#clock = clock;
    this.#identity = identity;
    this.#startedNs = clock.now() * 1e6;
  }

  /** Applies the redaction of a new config immediately; flows that are in the ring stay as they are. */
  setConfig({ redaction }: Pick<CaptureConfig, 'redaction'>): void {
    this.#redactors = new Redactors(redaction);
  }

  take(request: MetricsRequest): void {
    for (const { scopes } of request.resources) {
      for (const { metrics } of scopes) {
        for (const { name, data } of metrics) {
          if (data?.kind !== 'sum' || !flowMetrics.has(name)) continue;
          for (const point of data.points) {
            if (point.noValue || !(Math.abs(point.value) <= Number.MAX_SAFE_INTEGER)) continue;
            const bytes = data.temporality === 'delta' ? point.value : this.#increment(point);
            if (bytes > 0) this.#push(point, bytes);
          }
        }
      }
    }
  }

  #increment(point: { attributes: readonly Attribute[]; value: number; startNs: number }): number {
    const { attributes, value, startNs } = point;
    const key = attributesKey(attributes);
    const [account = ''] = this.#identity.flow(attributes).local;
    const held = this.#last.get(key);
    if (held) this.#memory.remove(held);
    this.#last.set(key, this.#memory.add(account, { key, value, startNs }, 1));
    if (this.#memory.weight > maxFlows) this.#forgetOne();
    const before = held?.item;
    if (!before) return startNs >= this.#startedNs && startNs > (this.#forgotten.get(account) ?? -1) ? value : 0;
    const restarted = point.value < before.value || (point.startNs !== before.startNs && point.startNs !== 0);
    return restarted ? point.value : point.value - before.value;
  }

  #forgetOne(): void {
    const oldest = this.#memory.oldestOfHeaviest()!;
    const { account, item } = oldest;
    this.#memory.remove(oldest);
    this.#last.delete(item.key);
    this.#forgotten.set(account, Math.max(item.startNs, this.#forgotten.get(account) ?? 0));
  }

  #push(point: { attributes: readonly Attribute[]; timeNs: number }, bytes: number): void {
    const now = this.#clock.now();
    const timeMs = Math.floor(point.timeNs / 1e6);
    const at = timeMs > 0 ? Math.min(timeMs, now) : now;
    const { attributes, local } = this.#identity.flow(point.attributes);
    const flow = flowRecord(this.#redacted(attributes), bytes, rfc3339Nano(BigInt(at) * 1_000_000n));
    const size = 400 + memoryOf(flow.source) + memoryOf(flow.destination) + memoryOf(flow.attributes);
    this.#ring.push({ timeMs: at, bytes: size, account: local[0] ?? '', flow }, now);
  }

  #redacted(attributes: readonly Attribute[]): Attribute[] {
    const redactor = this.#redactors.of(...namespaceKeys.map((key) => attributeText(attributes, key)));
    return attributes.flatMap(({ key, value }) => {
      const kept = redactor.attribute(key, value);
      return kept === undefined ? [] : [{ key, value: kept }];
    });
  }
}

/**
 * Wraps `ingest` to make stream items from flow points immediately: a follower need not wait for the write to the
 * store.
 */
export function withFlows(ingest: OtlpConsumer, flows: FlowIntake): OtlpConsumer {
  return {
    metrics: (request, bytes) => {
      flows.take(request);
      return ingest.metrics(request, bytes);
    },
    traces: (request, bytes) => ingest.traces(request, bytes),
    rejected: (reason, count) => ingest.rejected(reason, count),
  };
}

const flowMetrics: ReadonlySet<string> = new Set(['obi.network.flow.bytes', 'beyla.network.flow.bytes']);

const namespaceKeys = ['k8s.src.namespace', 'k8s.dst.namespace'] as const;
const endKeys = ['address', 'port', 'name', 'zone', 'cidr'] as const;

/** A flow point's attributes as a record. */
export function flowRecord(attributes: readonly Attribute[], bytes: number, end: string): FlowRecord {
  const rest = new Map(attributes.map(({ key, value }) => [key, truncate(valueText(value), maxTextLength)]));
  const take = (key: string): string | undefined => {
    const value = rest.get(key);
    rest.delete(key);
    return value === '' ? undefined : value;
  };
  const protocol = take('transport');
  return {
    end,
    direction: take('direction') ?? 'unknown',
    ...(protocol ? { protocol: protocol.toUpperCase() } : {}),
    bytes,
    source: flowEnd('src', take),
    destination: flowEnd('dst', take),
    attributes: fittingAttributes([...rest].filter(([, value]) => value !== '')),
  };
}

function flowEnd(side: 'src' | 'dst', take: (key: string) => string | undefined): FlowEnd {
  const [address, port, name, zone, cidr] = endKeys.map((key) => take(`${side}.${key}`));
  const k8s = (key: string): string | undefined => take(`k8s.${side}.${key}`);
  const object = k8s('name') ?? name;
  const ownerName = k8s('owner.name');
  const ownerKind = k8s('owner.type');
  const end = {
    namespace: k8s('namespace'),
    name: object,
    kind: k8s('type'),
    workload: ownerName ? { kind: ownerKind ?? 'unknown', name: ownerName } : undefined,
    node: k8s('node.name'),
    address,
    port: port && /^\d{1,5}$/.test(port) && Number(port) <= 65_535 ? Number(port) : undefined,
    zone,
    cidr,
  };
  return Object.fromEntries(Object.entries(end).filter(([, value]) => value !== undefined));
}
