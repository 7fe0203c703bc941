import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Identity } from '../identity/identity.ts';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { builtinLimits } from '../../capture/index.ts';
import { decodeTracesJson } from '../otlp/json/traces.ts';
import { emptyScope, type Span } from '../otlp/model.ts';
import { decodeTracesRequest } from '../otlp/protobuf/decode.ts';
import { SpanPipeline } from './span-pipeline.ts';
import { rfc3339Nano } from '../../stream/index.ts';
import { StreamRing } from './stream-ring.ts';

const recorded = 1_795_258_170_000;
const large = { maxBytes: 1e9, maxAgeMs: 3_600_000 };

test('recorded spans keep service and request without the caller’s address; Go’s child spans are dropped', () => {
  const ring = new StreamRing(large);
  const body = readFileSync(join(import.meta.dirname, '../testdata/otlp/09-patched-http-traces-go.bin'));
  const pipeline = new SpanPipeline({ ring, clock: new FakeClock(recorded), identity: new Identity() });
  const taken = pipeline.take(decodeTracesRequest(body));
  const spans = Array.from({ length: ring.next - ring.first }, (_, i) => ring.at(ring.first + i)!.span!);
  expect(taken).toBeGreaterThan(spans.length);
  expect(spans.map((s) => s.name)).not.toContain('in queue');
  expect(spans[0]).toEqual({
    traceId: 'f734fcd205a0f8c9f989aa217d7372bc',
    spanId: '8afa71315e304011',
    name: 'GET /api/users/{id}',
    kind: 'server',
    start: '2026-11-21T10:49:21.017363954Z',
    durationNs: 5_396_942,
    status: 'unset',
    service: 'go-shop',
    method: 'GET',
    path: '/api/users/1',
    route: '/api/users/{id}',
    statusCode: 200,
    attributes: {
      'http.request.body.size': 0,
      'http.response.body.size': 0,
      'server.address': 'go-shop',
      'server.port': 8080,
      'url.scheme': 'http',
    },
  });
  expect(spans.find((s) => s.statusCode === 500)).toMatchObject({ status: 'error' });
});

const ids = { trace: 'a'.repeat(32), span: 'b'.repeat(16) };
const named = {
  protobuf: (name: string) =>
    decodeTracesRequest(
      new WireWriter()
        .message(1, (resource) =>
          resource.message(2, (scope) =>
            scope.message(2, (span) =>
              span.bytes(1, Buffer.from(ids.trace, 'hex')).bytes(2, Buffer.from(ids.span, 'hex')).string(5, name),
            ),
          ),
        )
        .finish(),
    ),
  JSON: (name: string) => {
    const span = { traceId: ids.trace, spanId: ids.span, name };
    return decodeTracesJson(Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })));
  },
};

test.each([
  ['protobuf', 1_100, 'GET /reset/{code}/end'],
  ['JSON', 1_100, 'GET /reset/{code}/end'],
  ['protobuf', 9_000, 'GET /REDACTED'],
  ['JSON', 9_000, 'GET /REDACTED'],
] as const)('in %s, a name whose path has %d characters of a secret shows none of it', (encoding, length, shown) => {
  const ring = new StreamRing(large);
  const pipeline = new SpanPipeline({ ring, clock: new FakeClock(recorded), identity: new Identity() });
  const redaction = [{ paths: [{ pattern: '/reset/[^/]+/end', replacement: '/reset/{code}/end' }] }];
  pipeline.setConfig({ monitors: [], limits: builtinLimits, redaction });
  pipeline.take(named[encoding](`GET /reset/${'x'.repeat(length)}/end`));
  expect(ring.at(ring.first)!.span!.name).toBe(shown);
});

test.each([
  ['503', 503],
  [204, 204],
  [undefined, undefined],
  ['1e300', undefined],
  [0, undefined],
  [1_000, undefined],
  [200.5, undefined],
])('a span with the status code %p is shown with %p, whatever its Resource has', (code, shown) => {
  const ring = new StreamRing(large);
  const pipeline = new SpanPipeline({ ring, clock: new FakeClock(recorded), identity: new Identity() });
  const span: Span = {
    ...{ traceId: ids.trace, spanId: ids.span, parentSpanId: '', name: 'SET', kind: 'client', startNs: 1n, endNs: 2n },
    ...{ status: 'unset', statusMessage: '' },
    attributes: code === undefined ? [] : [{ key: 'http.response.status_code', value: code }],
  };
  const attributes = [{ key: 'http.response.status_code', value: '404' }];
  pipeline.take({ resources: [{ attributes, scopes: [{ scope: emptyScope, spans: [span] }] }] });
  expect(ring.at(ring.first)!.span!.statusCode).toBe(shown);
});

test('times are written to the nanosecond, and extreme ones cause no error', () => {
  expect(rfc3339Nano(1_795_258_161_017_363_954n)).toBe('2026-11-21T10:49:21.017363954Z');
  expect(rfc3339Nano(0n)).toBe('1970-01-01T00:00:00.000000000Z');
  expect(rfc3339Nano(2n ** 64n - 1n)).toMatch(/^2554-/);
});
