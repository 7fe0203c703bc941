import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { FakeClock } from '../testing/fake-clock.ts';
import { tokenTraces } from './token-trace.ts';

let exporter: InMemorySpanExporter;
let clock: FakeClock;
let begin: ReturnType<typeof tokenTraces>;
beforeEach(() => {
  exporter = new InMemorySpanExporter();
  clock = new FakeClock();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  begin = tokenTraces(provider.getTracer('test'), clock);
});

const decision = { status: 200, decision: 'allow', code: 'ok', reason: 'minted', requestId: 'r1' };

test('the spans of the steps are children of the request’s span, which has the decision', async () => {
  const trace = begin();
  expect(await trace.step('sign', () => Promise.resolve('jwt'))).toBe('jwt');
  await trace.step('platform create_token', () => Promise.resolve());
  trace.end(decision);
  const spans = exporter.getFinishedSpans();
  expect(spans.map((span) => span.name)).toEqual(['sign', 'platform create_token', 'POST /token']);
  const root = spans[2]!;
  expect(spans.slice(0, 2).map((span) => span.parentSpanContext?.spanId)).toEqual(
    Array(2).fill(root.spanContext().spanId),
  );
  expect(root.attributes).toMatchObject({ 'http.response.status_code': 200, 'minter.decision': 'allow' });
  expect(root.status.code).toBe(0);
});

test('a failing step is marked with its reason and fails its caller; a 5xx marks the request', async () => {
  const trace = begin();
  const failure = Object.assign(new Error('secret detail'), { reason: 'signer_deadline' });
  await expect(trace.step('sign', () => Promise.reject(failure))).rejects.toBe(failure);
  trace.end({ ...decision, status: 503, decision: 'error', reason: 'signer_deadline' });
  expect(exporter.getFinishedSpans().map((span) => span.status)).toEqual(
    Array(2).fill({ code: 2, message: 'signer_deadline' }),
  );
});

test('a refusal is not marked as an error', () => {
  begin().end({ ...decision, status: 403, decision: 'deny', code: 'scope_denied', reason: 'scope' });
  expect(exporter.getFinishedSpans()[0]!.status.code).toBe(0);
});
