import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { decodeMetricsJson } from './json/metrics.ts';
import { decodeTracesJson } from './json/traces.ts';
import type { Attribute } from './model.ts';
import { AttributeCache } from './protobuf/attribute-cache.ts';
import { decodeMetricsRequest, decodeTracesRequest } from './protobuf/decode.ts';

const pairs = (count: number, key = (i: number) => `k${i}`): Attribute[] =>
  Array.from({ length: count }, (_, i) => ({ key: key(i), value: '1' }));

const writePairs = (w: WireWriter, field: number, list: readonly Attribute[]): void => {
  for (const { key, value } of list) {
    w.message(field, (kv) => kv.string(1, key).message(2, (v) => v.string(1, String(value))));
  }
};
const jsonPairs = (list: readonly Attribute[]): object[] =>
  list.map(({ key, value }) => ({ key, value: { stringValue: value } }));

const ids = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };

interface Batch {
  readonly resource: readonly Attribute[];
  readonly span?: readonly Attribute[];
  readonly name?: string;
}

/** A traces request in protobuf and in JSON, with one Resource and one span of each batch. */
function tracesOf(...batches: readonly Batch[]): { body: Uint8Array; json: Uint8Array } {
  const request = new WireWriter();
  for (const { resource, span = [], name = 'GET /' } of batches) {
    request.message(1, (spans) =>
      spans
        .message(1, (r) => writePairs(r, 1, resource))
        .message(2, (scope) =>
          scope.message(2, (s) => {
            s.bytes(1, Buffer.from(ids.trace, 'hex')).bytes(2, Buffer.from(ids.span, 'hex')).string(5, name);
            writePairs(s, 9, span);
          }),
        ),
    );
  }
  const resourceSpans = batches.map(({ resource, span = [], name = 'GET /' }) => ({
    resource: { attributes: jsonPairs(resource) },
    scopeSpans: [{ spans: [{ traceId: ids.trace, spanId: ids.span, name, attributes: jsonPairs(span) }] }],
  }));
  return { body: request.finish(), json: Buffer.from(JSON.stringify({ resourceSpans })) };
}

const good: Batch = { resource: [{ key: 'service.name', value: 'shop' }] };
const longKey: Attribute = { key: 'x'.repeat(1_025), value: '1' };

test.each<[string, Batch, Batch, number]>([
  ['a key that is too long in a Resource', { resource: [longKey, ...pairs(2)] }, { resource: pairs(2) }, 1],
  ['too many attributes in a Resource', { resource: pairs(1_030) }, { resource: pairs(1_024) }, 6],
  [
    'a key that is too long in a span',
    { resource: [], span: [...pairs(2), longKey] },
    { resource: [], span: pairs(2) },
    1,
  ],
  ['too many attributes in a span', { resource: [], span: pairs(1_025) }, { resource: [], span: pairs(1_024) }, 1],
  [
    'a name of a span that is too long',
    { resource: [], name: `/${'y'.repeat(1_024)}` },
    { resource: [], name: `/${'y'.repeat(1_023)}` },
    0,
  ],
])('the request of all pods is taken without %s', (_what, sent, kept, skipped) => {
  const { body, json } = tracesOf(good, sent, good);
  const expected = decodeTracesRequest(tracesOf(good, kept, good).body);
  for (const decoded of [decodeTracesRequest(body), decodeTracesJson(json)]) {
    expect(decoded.resources).toEqual(expected.resources);
    expect(decoded.skippedAttributes ?? 0).toBe(skipped);
  }
});

test('attributes of a Resource of metrics that are left out are counted each time, also with a cache', () => {
  const resource = [...pairs(3), longKey];
  const request = new WireWriter();
  request.message(1, (r) => r.message(1, (list) => writePairs(list, 1, resource)));
  const cache = new AttributeCache();
  const json = { resourceMetrics: [{ resource: { attributes: jsonPairs(resource) } }] };
  const decoded = [
    decodeMetricsRequest(request.finish(), cache),
    decodeMetricsRequest(request.finish(), cache),
    decodeMetricsJson(Buffer.from(JSON.stringify(json))),
  ];
  for (const one of decoded) {
    expect(one).toEqual({ resources: [{ attributes: pairs(3), scopes: [] }], skippedAttributes: 1 });
  }
});
