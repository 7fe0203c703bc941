import type { FlowEnd, Recorded, SpanRecord } from './records.ts';
import { spanProtocol } from './span-protocol.ts';

/**
 * The fields of an item that filters use, the same for spans and flows. A flow has two ends. A span has one pod; its
 * peer is known by addresses and ports only.
 */
export interface ItemSubject {
  readonly pods: readonly { readonly namespace: string; readonly name: string }[];
  readonly workloads: readonly { readonly namespace: string; readonly kind: string; readonly name: string }[];
  readonly nodes: readonly string[];
  readonly directions: readonly string[];
  readonly protocols: readonly string[];
  readonly addresses: readonly string[];
  readonly ports: readonly number[];
}

/** The filter fields of an item that `node` recorded. */
export function itemSubject(item: Recorded, node: string): ItemSubject {
  return item.span
    ? ofSpan(item.span, node)
    : ofEnds(item.flow.direction, item.flow.protocol, item.flow.source, item.flow.destination, node);
}

/**
 * The direction of a span by its kind: a server's span belongs to an incoming request, a client's to an outgoing one.
 */
const directions: Readonly<Record<string, readonly string[]>> = {
  server: ['ingress', 'server'],
  consumer: ['ingress', 'consumer'],
  client: ['egress', 'client'],
  producer: ['egress', 'producer'],
};

function ofSpan(span: SpanRecord, node: string): ItemSubject {
  const attribute = (key: string): string => {
    if (key === 'http.request.method') return span.method ?? '';
    const value = span.attributes[key];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const protocol = spanProtocol(attribute);
  const namespace = span.namespace ?? '';
  const numbers = ['server.port', 'client.port', 'network.peer.port', 'network.local.port'].map((k) =>
    Number(attribute(k)),
  );
  return {
    pods: [{ namespace, name: span.pod ?? '' }],
    workloads: span.workload ? [{ namespace, ...span.workload }] : [],
    nodes: [node],
    directions: directions[span.kind] ?? [span.kind],
    protocols: protocol ? [protocol, 'TCP'] : [],
    addresses: ['server.address', 'client.address', 'network.peer.address', 'network.local.address'].map(attribute),
    ports: numbers.filter((n) => n > 0),
  };
}

function ofEnds(
  direction: string,
  protocol: string | undefined,
  source: FlowEnd,
  destination: FlowEnd,
  node: string,
): ItemSubject {
  const ends = [source, destination];
  return {
    pods: ends.map((e) => ({
      namespace: e.namespace ?? '',
      name: e.kind === undefined || e.kind === 'Pod' ? (e.name ?? '') : '',
    })),
    workloads: ends.flatMap((e) => (e.workload ? [{ namespace: e.namespace ?? '', ...e.workload }] : [])),
    nodes: [node, ...ends.flatMap((e) => e.node ?? [])],
    directions: [direction],
    protocols: protocol ? [protocol] : [],
    addresses: ends.flatMap((e) => e.address ?? []),
    ports: ends.flatMap((e) => e.port ?? []),
  };
}
