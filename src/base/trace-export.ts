import type { Tracer } from '@opentelemetry/api';
import type { Clock } from './clock.ts';
import { OperatorError } from './errors.ts';
import type { Logger } from './logger.ts';

/** The sender of spans, and their destination. */
export interface TraceExportOptions {
  /** `service.name` of the spans. */
  service: string;
  version: string;
  /** A name for this process, such as the name of its pod. */
  instance: string;
  /**
   * OTLP/HTTP endpoint; `/v1/traces` is added to an endpoint without a path. Empty: the environment variables decide.
   */
  endpoint?: string | undefined;
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  logger: Logger;
}

/** A tracer, and the function that ends its export. */
export interface TraceExport {
  tracer: Tracer;
  /** Sends the spans that are still queued, for at most three seconds. Never rejects. */
  close(): Promise<void>;
}

const closeMs = 3_000;

/**
 * Opens the export of spans. The endpoint is `endpoint`, else `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, else
 * `OTEL_EXPORTER_OTLP_ENDPOINT`; headers, timeout and sampling come from the other standard variables. Without an
 * endpoint, or with `OTEL_SDK_DISABLED=true`, returns undefined and loads no library.
 * Errors: ERR_CONFIG_INVALID for an address with user info.
 * Guarantees: export runs in the background; an unreachable collector loses spans, but never delays the traced work.
 */
export async function openTraceExport(options: TraceExportOptions): Promise<TraceExport | undefined> {
  const { environment, service, version, instance, clock, logger } = options;
  const url = tracesUrl(options.endpoint, environment);
  if (url === undefined || environment['OTEL_SDK_DISABLED'] === 'true') return undefined;
  const [{ BasicTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/resources'),
    ]);
  const attributes = { 'service.name': service, 'service.version': version, 'service.instance.id': instance };
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(attributes),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
  });
  logger.info('spans are exported', { url: withoutQuery(url) });
  return {
    tracer: provider.getTracer(service, version),
    async close() {
      const late = Promise.withResolvers<void>();
      const cancel = clock.setTimeout(late.resolve, closeMs);
      await Promise.race([provider.shutdown().catch(() => {}), late.promise]);
      cancel();
    },
  };
}

/**
 * The destination of spans. The variable for traces is the complete URL, the general one a base URL (OTLP exporter
 * spec).
 */
function tracesUrl(
  endpoint: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (endpoint) {
    const url = new URL(endpoint);
    return url.pathname === '/' ? new URL('v1/traces', url).href : url.href;
  }
  const traces = withoutUser('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', environment);
  if (traces) return traces;
  const base = withoutUser('OTEL_EXPORTER_OTLP_ENDPOINT', environment);
  return base ? `${base.replace(/\/+$/, '')}/v1/traces` : undefined;
}

/**
 * The value of a variable, which must not hold user info: everyone who may read the pod can read its environment.
 * Credentials go into OTEL_EXPORTER_OTLP_HEADERS from a Secret.
 */
function withoutUser(name: string, environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const text = environment[name];
  if (text && /^[^/]+\/\/[^/?#]*@/.test(text)) {
    throw new OperatorError('ERR_CONFIG_INVALID', `${name} must not hold a user or a password`);
  }
  return text;
}

/** The URL for the log, without its query string, which may contain a key. */
function withoutQuery(text: string): string {
  const { origin, pathname } = new URL(text);
  return origin + pathname;
}
