/** Texts of spans and flows that the command line and the page share. */
import type { FlowEnd, SpanRecord } from './records.ts';

/** The most precise known name of a flow's end: `shop/checkout-1:4000`, `node worker-2`, `10.0.0.7:443`. Pure. */
export function endText({ namespace, name, kind, workload, address, port, cidr }: FlowEnd): string {
  const within = (text: string): string => (namespace === undefined ? text : `${namespace}/${text}`);
  const prefix = kind === undefined || kind === 'Pod' ? '' : `${kind.toLowerCase()} `;
  const who =
    name !== undefined
      ? prefix + within(name)
      : workload
        ? within(`${workload.kind}/${workload.name}`.toLowerCase())
        : (address ?? cidr ?? (namespace === undefined ? 'unknown' : within('?')));
  return withPort(who, port);
}

/**
 * The client and the server of a span. The destination is empty for a span that describes neither a call nor a message,
 * such as an internal span. Pure.
 */
export function endsOfSpan(span: SpanRecord): { readonly source: string; readonly destination: string } {
  const own = span.pod === undefined ? (span.service ?? 'unknown') : `${span.namespace ?? '?'}/${span.pod}`;
  const attribute = (...keys: string[]): string | undefined => {
    const value = keys.map((key) => span.attributes[key]).find((v) => typeof v === 'string' || typeof v === 'number');
    return value === undefined ? undefined : String(value);
  };
  const port = Number(attribute('server.port')) || undefined;
  const { port: _, ...other } = span.peer ?? {};
  const peer = span.peer && endText(other);
  if (span.kind === 'server' || span.kind === 'consumer') {
    const from = peer ?? attribute('client.address', 'network.peer.address');
    return { source: from ?? 'unknown', destination: withPort(own, port) };
  }
  if (span.kind === 'client' || span.kind === 'producer') {
    const to = peer ?? attribute('server.address', 'network.peer.address', 'messaging.destination.name');
    return { source: own, destination: withPort(to ?? 'unknown', port) };
  }
  return { source: own, destination: '' };
}

function withPort(who: string, port: number | undefined): string {
  if (port === undefined) return who;
  return who.includes(':') && !who.includes('/') ? `[${who}]:${port}` : `${who}:${port}`;
}

/** The operation: `GET /cart/7`, or the span's name. Pure. */
export function operationOf({ method, path, route, name }: SpanRecord): string {
  return method === undefined ? name : `${method} ${path ?? route ?? '-'}`;
}

/** The outcome: the status code, or `ok` or `error`; empty when unknown. Pure. */
export function outcomeOf({ statusCode, status }: SpanRecord): string {
  return statusCode === undefined ? (status === 'unset' ? '' : status) : String(statusCode);
}

/** Reasons for lost items, by the `source` of the `lost` message. */
const reasons: Readonly<Record<string, string>> = {
  ring: "had left the node's memory before they were asked for",
  reader: 'came faster than the query server read them',
  relay: 'came faster than they were read here',
  labels: "cannot be judged on that node, for it does not know the labels of another node's pod",
  pattern: 'have paths that are too long for the regular expressions of these filters',
};

/**
 * The reason for lost items by the `source` of their message, to be read after "lost 3 items:". An unknown source is
 * returned unchanged. Pure.
 */
export function lossReason(source: string): string {
  return reasons[source] ?? source;
}
