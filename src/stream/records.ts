/** One span as the stream serves it. Absent members are unknown. */
export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: string;
  /** RFC 3339 with nanoseconds, UTC. */
  readonly start: string;
  readonly durationNs: number;
  readonly status: 'unset' | 'ok' | 'error';
  readonly statusMessage?: string;
  readonly namespace?: string;
  readonly pod?: string;
  readonly container?: string;
  readonly workload?: { readonly kind: string; readonly name: string };
  readonly service?: string;
  readonly method?: string;
  readonly path?: string;
  readonly route?: string;
  readonly statusCode?: number;
  /**
   * The other end: the client of a server's span, the server of a client's span. Only the query server, which relays
   * the agents' streams, sets it.
   */
  readonly peer?: FlowEnd;
  /** The span's other attributes, redacted. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** One end of a flow. Absent members are unknown, or not among the flow attributes of the policy. */
export interface FlowEnd {
  readonly namespace?: string;
  readonly name?: string;
  /** `Pod`, `Service`, `Node`. */
  readonly kind?: string;
  readonly workload?: { readonly kind: string; readonly name: string };
  readonly node?: string;
  readonly address?: string;
  readonly port?: number;
  readonly zone?: string;
  readonly cidr?: string;
}

/** The bytes that two ends exchanged between two reports of the instrument. */
export interface FlowRecord {
  /** The end of the interval in which the bytes were counted. RFC 3339, UTC. */
  readonly end: string;
  /** `request`, `response` or `unknown`. */
  readonly direction: string;
  /** `TCP`, `UDP` …; absent when the policy does not include it. */
  readonly protocol?: string;
  readonly bytes: number;
  readonly source: FlowEnd;
  readonly destination: FlowEnd;
  /** The flow's other attributes. */
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * The input of filters: a span or a flow, and its time (of a span: its start; of a flow: its report). Units: ms since
 * the epoch.
 */
export type Recorded = { readonly timeMs: number } & (
  { readonly span: SpanRecord; readonly flow?: undefined } | { readonly flow: FlowRecord; readonly span?: undefined }
);

/** Whether an item belongs to one of the namespaces: a span by the namespace of its pod, a flow by either end's. */
export function concerns({ span, flow }: Pick<Recorded, 'span' | 'flow'>, namespaces: ReadonlySet<string>): boolean {
  if (span) return namespaces.has(span.namespace ?? '');
  return namespaces.has(flow!.source.namespace ?? '') || namespaces.has(flow!.destination.namespace ?? '');
}

/** The time by which items are sorted. Strings of this form (RFC 3339 in UTC with nanoseconds) sort like times. */
export function timeOf(item: Pick<Recorded, 'span' | 'flow'>): string {
  return item.span ? item.span.start : item.flow!.end;
}

/** Nanoseconds since the epoch as RFC 3339 in UTC; a time outside the calendar becomes the epoch. */
export function rfc3339Nano(ns: bigint): string {
  const ms = Number(ns / 1_000_000n);
  if (ms > 8.64e15) return rfc3339Nano(0n);
  const nanos = String(ns % 1_000_000_000n).padStart(9, '0');
  return `${new Date(ms).toISOString().slice(0, 19)}.${nanos}Z`;
}
