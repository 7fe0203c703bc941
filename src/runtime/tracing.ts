import type { Tracer } from '@opentelemetry/api';
import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import { openTraceExport, type TraceExportOptions } from '../base/trace-export.ts';
import type { ReconcileOutcome } from './metrics.ts';

/** The subject of one reconcile, as recorded in its span. */
export interface RunAttributes {
  controller: string;
  kind: string;
  /** `namespace/name`. */
  key: string;
  /** What enqueued the key: `Deployment updated`, `initial list`, `retry`, `requeue`, `trigger`. */
  reason: string;
  /** Failures in a row before this run. */
  attempt: number;
  reconcileID: string;
}

/** The span of a running reconcile. */
export interface RunSpan {
  /** `error`: the error of the reconcile. */
  end(result: ReconcileOutcome, error?: unknown): void;
}

/** Creates a span per reconcile. */
export interface RunTracer {
  begin(attributes: RunAttributes): RunSpan;
}

const statusError = 2;

/** Creates a span `reconcile <controller>` per run on an OpenTelemetry tracer. Its attributes are `RunAttributes`. */
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

/** A tracer, and a function that sends the spans that are still queued. */
export interface Tracing {
  tracer: RunTracer;
  /** Sends the queued spans, and gives up after three seconds. Never rejects. */
  close(): Promise<void>;
}

/** Opens the export of a span per reconcile; undefined when no endpoint is configured. */
export async function openTracing(options: TraceExportOptions): Promise<Tracing | undefined> {
  const opened = await openTraceExport(options);
  return opened && { tracer: new SpanPerRun(opened.tracer, options.clock), close: () => opened.close() };
}
