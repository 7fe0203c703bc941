import type { Attribute, HistogramPoint, Metric } from '../../agent/otlp/model.ts';
import { instanceOf, type Sender } from './resource-attributes.ts';

/** The attributes that the real instrument puts on points of `http.*`; the SDK's other attributes are removed. */
const pointAttributes = new Set([
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'server.address',
  'server.port',
  'url.scheme',
]);

/**
 * Converts an SDK's HTTP metrics to the form of the real instrument: its point attributes, its times, its first bound
 * of 0. `instanceOnPoints`: the file enables the instance attribute on points.
 * No number is made up: counts and sums are the SDK's. Points whose attributes become equal are added up. Metrics of
 * other names are left out, because the instrument would not see them.
 */
export function reshapeHttpMetrics(
  metrics: readonly Metric[],
  sender: Sender,
  nowNs: number,
  instanceOnPoints = false,
): Metric[] {
  return metrics.flatMap((metric) => {
    if (!metric.name.startsWith('http.') || metric.data?.kind !== 'histogram') return [];
    const byKey = new Map<string, HistogramPoint>();
    for (const point of metric.data.points) {
      const serves = metric.name.startsWith('http.server.');
      const attributes = reshapeAttributes(
        serves ? withServedPort(point.attributes, sender) : point.attributes,
        sender,
        instanceOnPoints,
      );
      const key = JSON.stringify(attributes.map((a) => [a.key, String(a.value)]));
      const before = byKey.get(key);
      const shaped = { ...withZeroBound(point), attributes, timeNs: nowNs };
      byKey.set(key, before ? added(before, shaped) : shaped);
    }
    return [{ ...metric, description: '', data: { ...metric.data, points: [...byKey.values()] } }];
  });
}

/** Sets `server.port` to the port that the server listens on, instead of the port in the caller's Host header. */
export function withServedPort(attributes: readonly Attribute[], { port }: Sender): readonly Attribute[] {
  if (port === 0) return attributes;
  return [...attributes.filter(({ key }) => key !== 'server.port'), { key: 'server.port', value: port }];
}

function reshapeAttributes(attributes: readonly Attribute[], sender: Sender, withInstance: boolean): Attribute[] {
  const kept = attributes.filter(({ key }) => pointAttributes.has(key));
  const own = [
    ...(withInstance ? [{ key: 'service.instance.id', value: instanceOf(sender) }] : []),
    { key: 'service.name', value: sender.service },
    { key: 'service.namespace', value: sender.namespace },
  ];
  return [...kept, ...own].sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Adds the bound 0 in front, as the instrument has it. The new bucket is empty: no request takes less than 0 s. */
function withZeroBound(point: HistogramPoint): HistogramPoint {
  if (point.bounds.length === 0 || point.bounds[0]! <= 0) return point;
  return { ...point, bounds: [0, ...point.bounds], bucketCounts: [0, ...point.bucketCounts] };
}

function added(a: HistogramPoint, b: HistogramPoint): HistogramPoint {
  return {
    ...a,
    count: a.count + b.count,
    sum: a.sum === null || b.sum === null ? null : a.sum + b.sum,
    min: a.min === null || b.min === null ? null : Math.min(a.min, b.min),
    max: a.max === null || b.max === null ? null : Math.max(a.max, b.max),
    startNs: Math.min(a.startNs, b.startNs),
    bucketCounts: a.bucketCounts.map((count, i) => count + (b.bucketCounts[i] ?? 0)),
    exemplars: [...a.exemplars, ...b.exemplars],
  };
}

/**
 * The instrument's own metrics: its build, and a non-monotonic sum of the processes that it watches, by process name.
 * Like the real instrument, it sends no such sum while it watches no process. All processes here are Node.js.
 */
export function selfMetrics(processes: number, startNs: number, nowNs: number): Metric[] {
  const point = { startNs, timeNs: nowNs, noValue: false, exemplars: [] };
  const build: Metric = {
    name: 'obi.internal.build.info',
    description: 'Build of the instrument',
    unit: '',
    data: { kind: 'gauge', points: [{ ...point, value: 1, attributes: [] }] },
  };
  if (processes === 0) return [build];
  const attributes = [{ key: 'process_name', value: 'node' }];
  return [
    build,
    {
      name: 'obi.instrumented.processes',
      description: 'Total number of instrumented processes by process name',
      unit: '',
      data: {
        kind: 'sum',
        temporality: 'cumulative',
        monotonic: false,
        points: [{ ...point, value: processes, attributes }],
      },
    },
  ];
}

/** The info metrics that the real instrument sends under an empty Resource; a receiver has to drop them. */
export function infoMetrics(node: string, service: string, nowNs: number): Metric[] {
  const base = { startNs: nowNs, timeNs: nowNs, noValue: false, exemplars: [], value: 1 };
  const point = { ...base, attributes: [{ key: 'host.id', value: node }] };
  const target = { ...base, attributes: [{ key: 'service.name', value: service }] };
  return [
    { name: 'traces.host.info', description: '', unit: '', data: { kind: 'gauge', points: [point] } },
    {
      name: 'target.info',
      description: 'Target metadata',
      unit: '',
      data: { kind: 'sum', temporality: 'cumulative', monotonic: false, points: [target] },
    },
  ];
}
