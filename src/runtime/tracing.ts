import type { Tracer } from '@opentelemetry/api';
import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { ReconcileOutcome } from './metrics.ts';

/** What one reconcile is about, as its span tells it. */
export interface RunAttributes {
  controller: string;
  kind: string;
  /** `namespace/name`. */
  key: string;
  /** What enqueued it: `Deployment updated`, `initial list`, `retry`, `requeue`, `trigger`. */
  reason: string;
  /** Failures in a row before this run. */
  attempt: number;
  reconcileID: string;
}

export interface RunSpan {
  /** `error`: what the reconcile failed with. */
  end(result: ReconcileOutcome, error?: unknown): void;
}

/** Makes a span per reconcile. */
export interface RunTracer {
  begin(attributes: RunAttributes): RunSpan;
}

const statusError = 2;

/** Spans on an OpenTelemetry tracer: `reconcile <controller>`, with the attributes by their own names. */
export class SpanPerRun implements RunTracer {
  readonly #tracer: Tracer;
  readonly #clock: Clock;

  constructor(tracer: Tracer, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  begin(attributes: RunAttributes): RunSpan {
    const span = this.#tracer.startSpan(`reconcile ${attributes.controller}`, {
      attributes: { ...attributes },
      startTime: this.#clock.now(),
    });
    return {
      end: (result, error) => {
        span.setAttribute('result', result);
        if (error !== undefined) {
          span.recordException(error instanceof Error ? error : String(error), this.#clock.now());
          span.setStatus({ code: statusError, message: errorText(error) });
        }
        span.end(this.#clock.now());
      },
    };
  }
}

export interface TracingOptions {
  /** `service.name` of the spans. */
  service: string;
  version: string;
  /** This process, such as the pod's name. */
  instance: string;
  /** OTLP/HTTP endpoint; `/v1/traces` is added to one without a path. Empty: what the environment says. */
  endpoint?: string | undefined;
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  logger: Logger;
}

/** A tracer and the way to send what is left. */
export interface Tracing {
  tracer: RunTracer;
  /** Sends what is queued, for at most three seconds. Never rejects. */
  close(): Promise<void>;
}

const closeMs = 3_000;

/**
 * Opens the export of spans, or returns undefined where no endpoint is configured: neither `endpoint` nor
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` nor `OTEL_EXPORTER_OTLP_ENDPOINT` (headers, timeout and sampling come from the
 * other standard variables). The libraries are loaded only then.
 * Guarantees: exporting is in the background; a collector that is away costs spans, never a reconcile.
 */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
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
  logger.info('spans are exported', { url: withoutCredentials(url) });
  return {
    tracer: new SpanPerRun(provider.getTracer(service, version), clock),
    async close() {
      const late = new Promise<void>((resolve) => clock.setTimeout(resolve, closeMs));
      await Promise.race([provider.shutdown().catch(() => {}), late]);
    },
  };
}

/** Where spans go. The variable for traces names the whole address, the general one a base (OTLP exporter spec). */
function tracesUrl(
  endpoint: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (endpoint) {
    const url = new URL(endpoint);
    return url.pathname === '/' ? new URL('v1/traces', url).href : url.href;
  }
  const traces = environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  if (traces) return traces;
  const base = environment['OTEL_EXPORTER_OTLP_ENDPOINT'];
  return base ? `${base.replace(/\/+$/, '')}/v1/traces` : undefined;
}

function withoutCredentials(text: string): string {
  const url = new URL(text);
  url.username = '';
  url.password = '';
  return url.href;
}
