import type { HistogramPoint, Metric, Span } from '../../src/agent/otlp/model.ts';
import { encodeMetricsRequest, encodeTracesRequest } from '../../src/testing/otlp-encode.ts';
import type { Seen } from './traffic.ts';

/** Bounds of the buckets in the instrument's histograms of durations. Units: s. */
const bounds = [0, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

interface Series {
  readonly attributes: HistogramPoint['attributes'];
  count: number;
  sum: number;
  readonly buckets: number[];
}

/**
 * The stand-in of the eBPF instrument sees no traffic. This class turns the requests that a workload has printed into
 * metrics and spans, and posts them to the stand-in, as a service with its own SDK would.
 */
export class SelfReport {
  readonly #pod: string;
  readonly #port: number;
  readonly #tls: boolean;
  readonly #url: string;
  readonly #startNs = Date.now() * 1e6;
  readonly #series = new Map<string, Series>();
  #waiting: Seen[] = [];
  #ids = 0;

  /** `port` is 0 for a client. */
  constructor(options: { pod: string; port: number; tls: boolean; url: string }) {
    this.#pod = options.pod;
    this.#port = options.port;
    this.#tls = options.tls;
    this.#url = options.url;
  }

  take(seen: Seen): void {
    const asks = seen.to !== undefined;
    const attributes = [
      { key: 'http.request.method', value: seen.method },
      { key: 'http.response.status_code', value: seen.status },
      { key: 'http.route', value: seen.route },
      { key: 'server.address', value: asks ? 'outgoing' : this.#pod },
      { key: 'server.port', value: asks ? (seen.port ?? 0) : this.#port },
      { key: 'url.scheme', value: (seen.tls ?? this.#tls) ? 'https' : 'http' },
    ];
    const name = asks ? 'http.client.request.duration' : 'http.server.request.duration';
    const id = `${name} ${JSON.stringify(attributes)}`;
    const series = this.#series.get(id) ?? { attributes, count: 0, sum: 0, buckets: bounds.map(() => 0).concat(0) };
    this.#series.set(id, series);
    series.count++;
    series.sum += seen.seconds;
    const bucket = bounds.findIndex((bound) => seen.seconds <= bound);
    series.buckets[bucket < 0 ? bounds.length : bucket]!++;
    this.#waiting.push(seen);
  }

  /** Posts all counts so far, and the spans since the last post. Errors are ignored: the stand-in may be down. */
  async post(): Promise<void> {
    const nowNs = Date.now() * 1e6;
    const resource = Object.entries({
      'service.name': this.#pod,
      'k8s.namespace.name': 'shop',
      'k8s.pod.name': this.#pod,
      'k8s.container.name': 'main',
      ...(this.#port > 0 ? { 'svc.demo.port': this.#port } : {}),
    }).map(([key, value]) => ({ key, value }));
    const scope = { name: 'self', version: '' };
    const metrics = [...Map.groupBy(this.#series, ([id]) => id.slice(0, id.indexOf(' ')))].map(
      ([name, list]): Metric => ({
        name,
        description: '',
        unit: 's',
        data: { kind: 'histogram', temporality: 'cumulative', points: list.map(([, one]) => this.#point(one, nowNs)) },
      }),
    );
    const spans = this.#waiting.map((seen) => this.#span(seen, Date.now()));
    this.#waiting = [];
    await this.#send(
      'metrics',
      encodeMetricsRequest({ resources: [{ attributes: resource, scopes: [{ scope, metrics }] }] }),
    );
    if (spans.length > 0) {
      await this.#send(
        'traces',
        encodeTracesRequest({ resources: [{ attributes: resource, scopes: [{ scope, spans }] }] }),
      );
    }
  }

  #point({ attributes, count, sum, buckets }: Series, timeNs: number): HistogramPoint {
    const extremes = { min: null, max: null, exemplars: [], noValue: false };
    return { attributes, startNs: this.#startNs, timeNs, count, sum, bucketCounts: [...buckets], bounds, ...extremes };
  }

  #span(seen: Seen, nowMs: number): Span {
    this.#ids++;
    const id = this.#ids.toString(16).padStart(16, '0');
    return {
      traceId: Buffer.from(this.#pod.padEnd(8, '.').slice(0, 8)).toString('hex') + id,
      spanId: id,
      parentSpanId: '',
      name: `${seen.method} ${seen.route}`,
      kind: seen.to === undefined ? 'server' : 'client',
      startNs: BigInt(Math.round(nowMs - seen.seconds * 1e3)) * 1_000_000n,
      endNs: BigInt(nowMs) * 1_000_000n,
      attributes: [
        { key: 'http.request.method', value: seen.method },
        { key: 'http.response.status_code', value: seen.status },
        { key: 'http.route', value: seen.route },
        { key: 'url.path', value: seen.route },
      ],
      status: seen.status >= 500 ? 'error' : 'unset',
      statusMessage: '',
    };
  }

  async #send(signal: 'metrics' | 'traces', body: Uint8Array): Promise<void> {
    await fetch(`${this.#url}/v1/${signal}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf' },
      body: Buffer.from(body),
      signal: AbortSignal.timeout(5_000),
    })
      .then((answer) => answer.arrayBuffer())
      .catch(() => undefined);
  }
}
