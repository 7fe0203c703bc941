import type { FlowEnd, SpanRecord } from '../../../stream/index.ts';

/** Who an end of a flow is, as well as it is known: `shop/checkout-1:4000`, `node worker-2`, `10.0.0.7:443`. Pure. */
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

/** Who asks and who is asked; the second is empty for a span without a peer. Pure. */
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

/** What was done: `GET /cart/7`, or the span's name. Pure. */
export function operationOf({ method, path, route, name }: SpanRecord): string {
  return method === undefined ? name : `${method} ${path ?? route ?? '-'}`;
}

/** How it ended: the status code, or `ok` or `error`; empty where nothing is known. Pure. */
export function outcomeOf({ statusCode, status }: SpanRecord): string {
  return statusCode === undefined ? (status === 'unset' ? '' : status) : String(statusCode);
}

/** A span's time in three digits: `850ns`, `12.3µs`, `5.4ms`, `1.23s`, `2m5s`. Pure. */
export function durationText(ns: number): string {
  if (ns >= 60e9) return `${Math.floor(ns / 60e9)}m${Math.floor((ns % 60e9) / 1e9)}s`;
  const [size, unit] = (
    [
      [1e9, 's'],
      [1e6, 'ms'],
      [1e3, 'µs'],
      [1, 'ns'],
    ] as const
  ).find(([least]) => ns >= least) ?? [...([1, 'ns'] as const)];
  return `${threeDigits(ns / size)}${unit}`;
}

/** `512B`, `1.5KiB`, `20MiB`. Pure. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${threeDigits(bytes / 1024 ** power)}${units[power]}`;
}

function threeDigits(value: number): string {
  return value >= 100 ? String(Math.floor(value)) : String(Number(value.toPrecision(3)));
}

/** A time of the stream to the millisecond. Pure. */
export function shortTime(time: string): string {
  return `${time.slice(0, 23)}Z`;
}
