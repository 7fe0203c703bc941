import {
  encodeMessage,
  endsOfSpan,
  endText,
  parseMessage,
  type SpanRecord,
  type StreamMessage,
} from '../../stream/index.ts';
import { AddressIndex } from '../addresses/address-index.ts';
import { EndNamer } from './name-ends.ts';

const start = Date.parse('2024-01-01T00:00:00Z');
const time = '2024-01-01T00:01:00.000000000Z';

function cluster(): AddressIndex {
  const index = new AddressIndex();
  const pods = {
    labels: { 'pod-template-hash': 'x' },
    containers: [],
    hostNetwork: false,
    fromMs: start,
    ended: false,
  };
  for (const [name, ip, nodeName] of [
    ['web', '10.0.0.1', 'node-1'],
    ['checkout', '10.0.1.1', 'node-2'],
  ] as const) {
    const owner = { kind: 'ReplicaSet', name: `${name}-x` };
    index.setPod({ ...pods, namespace: name, name: `${name}-x-1`, uid: name, nodeName, ips: [ip], owner }, start);
  }
  index.setService(
    { namespace: 'checkout', name: 'checkout', ips: ['10.96.0.7'], selector: null, fromMs: start },
    start,
  );
  return index;
}

const aSpan = (over: Partial<SpanRecord>): StreamMessage => {
  const span = { traceId: 't', spanId: 's', name: 'GET /', kind: 'client', start: time, durationNs: 1 };
  return { node: 'node-1', time, span: { ...span, status: 'unset', attributes: {}, ...over } };
};
const ofWeb = { namespace: 'web', pod: 'web-x-1', workload: { kind: 'Deployment', name: 'web' } };
const shown = (namer: EndNamer, message: StreamMessage): string => {
  const { source, destination } = endsOfSpan(namer.named(message).span!);
  return `${source} → ${destination}`;
};

test.each([
  ['10.0.1.1', 'web/web-x-1 → checkout/checkout-x-1:8080'],
  ['10.96.0.7', 'web/web-x-1 → service checkout/checkout:8080'],
  ['checkout.checkout', 'web/web-x-1 → service checkout/checkout:8080'],
  ['203.0.113.9', 'web/web-x-1 → 203.0.113.9:8080'],
  ['outgoing', 'web/web-x-1 → outgoing:8080'],
])('a request to %s is shown as %s', (address, line) => {
  const namer = new EndNamer(cluster(), () => undefined);
  const attributes = { 'server.address': address, 'server.port': 8080 };
  expect(shown(namer, aSpan({ ...ofWeb, attributes }))).toBe(line);
});

test('a caller is named by its address, else by its own span of the same request', () => {
  const namer = new EndNamer(cluster(), () => undefined);
  const served = { kind: 'server', namespace: 'checkout', pod: 'checkout-x-1', spanId: 'c' } as const;
  expect(shown(namer, aSpan({ ...served, attributes: { 'client.address': '10.0.0.1' } }))).toBe(
    'web/web-x-1 → checkout/checkout-x-1',
  );
  const followed = aSpan({ ...served, traceId: 'a', parentSpanId: 'b' });
  expect(shown(namer, followed)).toBe('unknown → checkout/checkout-x-1');
  namer.named(aSpan({ ...ofWeb, traceId: 'a', spanId: 'b' }));
  expect(shown(namer, followed)).toBe('web/web-x-1 → checkout/checkout-x-1');
});

test('a peer in a namespace hidden from the reader is named by its workload, without pod and node', () => {
  const namer = new EndNamer(cluster(), () => new Set(['web']));
  const { span } = namer.named(aSpan({ ...ofWeb, attributes: { 'server.address': '10.0.1.1' } }));
  expect(span!.peer).toEqual({ namespace: 'checkout', workload: { kind: 'Deployment', name: 'checkout' } });
});

test('a Service that a visible pod called is named, even in a namespace hidden from the reader', () => {
  const namer = new EndNamer(cluster(), () => new Set(['web']));
  const { span } = namer.named(aSpan({ ...ofWeb, attributes: { 'server.address': '10.96.0.7' } }));
  const named = { namespace: 'checkout', name: 'checkout', kind: 'Service', address: '10.96.0.7' };
  expect(span!.peer).toEqual(named);
});

test.each([
  ['the bare name of a workload elsewhere', 'checkout', undefined],
  ['an address and a namespace that is not its own', '10-0-1-1.web.pod', undefined],
  ['a workload', 'checkout.checkout', 'checkout.checkout'],
  ['a workload that does not exist', 'gone.checkout', 'gone.checkout'],
  ['a Service', 'checkout.checkout.svc', 'checkout.checkout.svc'],
  ['a Service that does not exist', 'gone.checkout.svc', 'gone.checkout.svc'],
  ['a pod by its address', '10-0-1-1.checkout.pod', '10-0-1-1.checkout.pod'],
])('a host of a namespace hidden from the reader stays the text of the request: %s', (_what, host, text) => {
  const namer = new EndNamer(cluster(), () => new Set(['web']));
  const { span } = namer.named(aSpan({ ...ofWeb, attributes: { 'server.address': host } }));
  expect(span!.peer).toEqual(text && { address: text, cidr: text });
});

test('the peer that an agent reports is dropped, because an agent knows only its own pods', () => {
  const namer = new EndNamer(cluster(), () => undefined);
  const { span } = namer.named(aSpan({ ...ofWeb, peer: { namespace: 'bank', name: 'vault' } }));
  expect(span).not.toHaveProperty('peer');
});

test('an end of a flow that has only an address gets its names; a named end stays as it is', () => {
  const namer = new EndNamer(cluster(), () => undefined);
  const ends = {
    source: { namespace: 'web', name: 'its-own-name', address: '10.0.0.1' },
    destination: { address: '10.0.1.1', port: 8080 },
  };
  const { flow } = namer.named({
    node: 'node-1',
    time,
    flow: { end: time, direction: 'request', bytes: 1, attributes: {}, ...ends },
  });
  expect([endText(flow!.source), endText(flow!.destination)]).toEqual([
    'web/its-own-name',
    'checkout/checkout-x-1:8080',
  ]);
  expect(flow!.destination.node).toBe('node-2');
});

test('a message with a named peer passes validation and encoding', () => {
  const namer = new EndNamer(cluster(), () => undefined);
  const message = namer.named(aSpan({ ...ofWeb, attributes: { 'server.address': '10.0.1.1' } }));
  expect(parseMessage(JSON.stringify(message))).toEqual(message);
  expect(encodeMessage(message).includes('checkout-x-1')).toBe(true);
});

test('the newest ten thousand callers are remembered, and much older ones are not', () => {
  const namer = new EndNamer(cluster(), () => undefined);
  const served = { kind: 'server', namespace: 'checkout', pod: 'checkout-x-1', spanId: 'c' } as const;
  const callerOf = (traceId: string): string =>
    shown(namer, aSpan({ ...served, traceId, parentSpanId: 'b' })).split(' ')[0]!;
  for (let i = 0; i < 30_000; i++) namer.named(aSpan({ ...ofWeb, traceId: `t${i}`, spanId: 'b' }));
  expect(['t29999', 't20000', 't9999', 't0'].map(callerOf)).toEqual([
    'web/web-x-1',
    'web/web-x-1',
    'unknown',
    'unknown',
  ]);
});
