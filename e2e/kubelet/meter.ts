/**
 * Sends known numbers in the instrument's place, so that what is stored and answered can be compared with what was
 * sent.
 */
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { MetricsRequest } from '../../src/agent/otlp/model.ts';
import type { PodFacts } from '../../src/testing/instrument/pod-directory.ts';
import { enrichedResource, instanceOf, type Sender } from '../../src/testing/instrument/resource-attributes.ts';
import { encodeMetricsRequest } from '../../src/testing/otlp-encode.ts';
import { signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { processesOf } from './processes-of.ts';
import type { Pod } from './product.ts';

const courier = fileURLToPath(new URL('./courier.ts', import.meta.url));

/** A count of a pod's requests that was sent. */
export interface Sent {
  readonly value: number;
  /** The time on the point. Units: ms since the epoch. */
  readonly at: number;
  /** Whether the agent has acknowledged the value. */
  isAcknowledged: boolean;
}

export interface MeterOptions {
  readonly node: string;
  /** The `http.route` of its requests. */
  readonly route: string;
  readonly everyMs: number;
  /** The pods whose requests it counts. */
  readonly pods: () => readonly Pod[];
  /** By how many requests the count of each pod grows at each post. */
  readonly step: () => number;
}

/**
 * The time of a point that the agent stores as the millisecond `ms`: the middle of that millisecond. A double of
 * today's nanoseconds is up to 128 ns off, so the beginning of a millisecond might be stored as the one before.
 */
export const inNanoseconds = (ms: number): number => ms * 1e6 + 500_000;

/**
 * Counts made-up requests of pods and posts the counts, as the instrument would.
 * Guarantees: the count of a pod never falls. A post without an answer is not repeated: the next post counts its
 * requests as well.
 */
export class Meter {
  /** What was sent for each pod, by name. */
  readonly sent = new Map<string, Sent[]>();
  readonly #options: MeterOptions;
  readonly #startedNs = Date.now() * 1e6;
  readonly #waiting = new Map<number, Sent>();
  readonly #timer: NodeJS.Timeout;
  #child: ChildProcess | undefined;
  #agent = 0;
  #nextId = 0;
  #failures = 0;

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#postAll(), options.everyMs);
  }

  /** The newest value of a pod that the agent has acknowledged; 0 before the first. */
  acknowledged(pod: string): number {
    return this.sent.get(pod)?.findLast(({ isAcknowledged }) => isAcknowledged)?.value ?? 0;
  }

  /** The newest value of a pod; 0 before the first. */
  newest(pod: string): number {
    return this.sent.get(pod)?.at(-1)?.value ?? 0;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#endCourier();
  }

  #postAll(): void {
    const agent = this.#child && this.#failures < 2 ? this.#agent : processesOf('agent').at(-1);
    if (agent === undefined) return;
    this.#openCourier(agent);
    for (const pod of this.#options.pods()) this.#post(pod);
  }

  #post(pod: Pod): void {
    const all = this.sent.get(pod.metadata.name) ?? [];
    this.sent.set(pod.metadata.name, all);
    const value = (all.at(-1)?.value ?? 0) + this.#options.step();
    const one = { value, at: Date.now(), isAcknowledged: false };
    all.push(one);
    const id = this.#nextId++;
    this.#waiting.set(id, one);
    const body = Buffer.from(encodeMetricsRequest(this.#request(pod, one))).toString('base64');
    this.#child?.stdin?.write(`${JSON.stringify({ id, body })}\n`);
  }

  #request(pod: Pod, { value, at }: Sent): MetricsRequest {
    const { node, route } = this.#options;
    const container = pod.spec.containers[0]!.name;
    const { namespace, name } = pod.metadata;
    const sender: Sender = { namespace, pod: name, container, service: name, port: 8_080 };
    const facts: PodFacts = { uid: pod.metadata.uid, namespace, node, startTime: '', labels: {}, owners: {} };
    const attributes = Object.entries({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.route': route,
      'server.port': 8_080,
      'service.instance.id': instanceOf(sender),
      'service.name': sender.service,
      'service.namespace': namespace,
    }).map(([key, is]) => ({ key, value: is }));
    const numbers = {
      count: value,
      sum: value / 100,
      min: null,
      max: null,
      bounds: [0, 1],
      bucketCounts: [0, value, 0],
    };
    const times = { startNs: this.#startedNs, timeNs: inNanoseconds(at), noValue: false };
    const point = { ...numbers, ...times, attributes, exemplars: [] };
    const data = { kind: 'histogram', temporality: 'cumulative', points: [point] } as const;
    const metrics = [{ name: 'http.server.request.duration', description: '', unit: 's', data }];
    const scopes = [{ scope: { name: 'go.opentelemetry.io/obi', version: '' }, metrics }];
    return { resources: [{ attributes: enrichedResource(sender, facts, node), scopes }] };
  }

  #openCourier(agent: number): void {
    if (this.#child && agent === this.#agent && this.#child.exitCode === null) return;
    this.#endCourier();
    this.#agent = agent;
    this.#failures = 0;
    const command = ['nsenter', `--net=/proc/${agent}/ns/net`, process.execPath, courier];
    this.#child = spawnBound(command, { run: 'node', env: toolEnvironment(), stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.once('error', () => undefined);
    this.#child.stdin!.on('error', () => undefined);
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const { id, status } = JSON.parse(line) as { id: number; status: number };
      const one = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (one) one.isAcknowledged = status === 200;
      this.#failures = status === 200 ? 0 : this.#failures + 1;
    });
  }

  #endCourier(): void {
    if (this.#child?.pid !== undefined) signalGroup(this.#child.pid, 'SIGKILL');
    this.#child = undefined;
    this.#waiting.clear();
  }
}
