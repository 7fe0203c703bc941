import type { Span, Tracer } from '@opentelemetry/api';
import { SpanKind, SpanStatusCode, trace, ROOT_CONTEXT } from '@opentelemetry/api';
import type { Clock } from '../base/clock.ts';

/** The spans of one `POST /token`. Steps may be nested, but never run in parallel. */
export interface TokenTrace {
  /** Runs one step under its own span; a rejection marks the span and is passed on to the caller. */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Ends the trace with the decision; called once. No attribute carries an identity, a token or a key. */
  end(decision: { status: number; decision: string; code: string; reason: string; requestId: string }): void;
}

/** Starts the trace of a request. */
export type BeginTokenTrace = () => TokenTrace;

/** Used when no endpoint for traces is configured: runs the steps and records nothing. */
export const noTokenTrace: TokenTrace = { step: (_name, work) => work(), end: () => {} };

/**
 * `POST /token` as a server span, with a child per step: `verify identity`, `read body`, `sign`, `platform …`. A
 * caller's own trace id is not adopted: it is unauthenticated input.
 */
export function tokenTraces(tracer: Tracer, clock: Clock): BeginTokenTrace {
  return () => {
    const root = tracer.startSpan(
      'POST /token',
      {
        kind: SpanKind.SERVER,
        startTime: clock.now(),
        attributes: { 'http.request.method': 'POST', 'http.route': '/token' },
      },
      ROOT_CONTEXT,
    );
    const context = trace.setSpan(ROOT_CONTEXT, root);
    return {
      async step(name, work) {
        const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime: clock.now() }, context);
        try {
          return await work();
        } catch (error) {
          fail(span, (error as { reason?: string }).reason ?? 'error');
          throw error;
        } finally {
          span.end(clock.now());
        }
      },
      end({ status, decision, code, reason, requestId }) {
        root.setAttributes({
          'http.response.status_code': status,
          'minter.decision': decision,
          'minter.code': code,
          'minter.reason': reason,
          'minter.request_id': requestId,
        });
        if (status >= 500) fail(root, reason);
        root.end(clock.now());
      },
    };
  };
}

function fail(span: Span, message: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
