import { createHash } from 'node:crypto';
import { type FlowRecord, maxLineLength } from '../../stream/index.ts';
import { heapAfterGc } from '../../testing/heap.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { aPod, nodePods } from '../../testing/node-pods.ts';
import { encodeMetricsRequest } from '../../testing/otlp-encode.ts';
import type { Metric } from '../otlp/model.ts';
import { decodeMetricsRequest } from '../otlp/protobuf/decode.ts';
import { FlowIntake } from './flow-intake.ts';
import { StreamRing } from './stream-ring.ts';

const large = { maxBytes: 1e9, maxAgeMs: 3_600_000 };
const attributes = (values: Record<string, string | number>) =>
  Object.entries(values).map(([key, value]) => ({ key, value }));

test('flow counters become items with the bytes since the previous report', () => {
  const clock = new FakeClock(1_795_258_170_000);
  const ring = new StreamRing(large);
  const intake = new FlowIntake(ring, clock, nodePods());
  const nowNs = clock.now() * 1e6;
  const point = (value: number, startNs: number, port: number) => ({
    attributes: attributes({ direction: 'request', 'dst.port': port }),
    startNs,
    timeNs: nowNs,
    noValue: false,
    value,
    exemplars: [],
  });
  const take = (points: ReturnType<typeof point>[]): void => {
    const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points } as const;
    const metrics = [{ name: 'obi.network.flow.bytes', description: '', unit: '{bytes}', data }];
    const scopes = [{ scope: { name: '', version: '' }, metrics }];
    intake.take(decodeMetricsRequest(Buffer.from(encodeMetricsRequest({ resources: [{ attributes: [], scopes }] }))));
  };
  const old = nowNs - 60e9;
  const fresh = nowNs + 1e9;
  take([point(1_000, old, 80), point(50, fresh, 443)]);
  take([point(1_500, old, 80), point(50, fresh, 443)]);
  // Neither a count of bytes nor a number of a port.
  take([point(1e300, fresh, 443), point(-1e300, fresh, 80)]);
  take([point(20, fresh, 80), point(60, fresh, 99_999)]);
  const flows = Array.from({ length: ring.next }, (_, i) => ring.at(i)!.flow!);
  expect(flows.map((f) => [f.destination.port, f.bytes])).toEqual([
    [443, 50],
    [80, 500],
    [80, 20],
    [undefined, 60],
  ]);
});

test('a flow with very long texts has a line that readers accept, and all of it counts as memory', () => {
  const clock = new FakeClock(1_795_258_170_000);
  const ring = new StreamRing(large);
  const intake = new FlowIntake(ring, clock, nodePods());
  const long = '\u0001'.repeat(50_000);
  const ends = ['address', 'name', 'zone', 'cidr'].flatMap((key) => [`src.${key}`, `dst.${key}`]);
  const kinds = ['namespace', 'name', 'type', 'owner.name', 'owner.type', 'node.name'];
  const keys = [...ends, ...kinds.flatMap((key) => [`k8s.src.${key}`, `k8s.dst.${key}`])];
  const others = Array.from({ length: 100 }, (_, i) => `other.${i}`);
  const startNs = clock.now() * 1e6 + 1e9;
  const point = {
    attributes: attributes(Object.fromEntries([...keys, ...others].map((key) => [key, long]))),
    ...{ startNs, timeNs: startNs, noValue: false, value: 7, exemplars: [] },
  };
  const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points: [point] } as const;
  const metrics = [{ name: 'obi.network.flow.bytes', description: '', unit: '{bytes}', data }];
  intake.take({ resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics }] }] });
  const line = JSON.stringify(ring.at(0)!.flow);
  expect(line.length).toBeLessThan(maxLineLength);
  expect(ring.bytes).toBeGreaterThan(0.9 * line.replaceAll('\\u0001', '.').length);
});

test('endless flows of a namespace displace only its own flows; a forgotten flow is not counted in full again', () => {
  const clock = new FakeClock(1_795_258_170_000);
  const ring = new StreamRing(large);
  const identity = nodePods(aPod('pay/db-0', { ip: '10.0.0.9' }), aPod('noisy/a', { ip: '10.0.0.8' }));
  const intake = new FlowIntake(ring, clock, identity);
  const startNs = clock.now() * 1e6 + 1e9;
  const point = (address: string, peer: number, value: number) => ({
    attributes: attributes({ 'src.address': address, 'dst.address': '9.9.9.9', 'dst.port': 443, peer }),
    ...{ startNs, timeNs: startNs, noValue: false, value, exemplars: [] },
  });
  const take = (points: ReturnType<typeof point>[]): number[] => {
    const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points } as const;
    const metrics = [{ name: 'obi.network.flow.bytes', description: '', unit: '{bytes}', data }];
    const from = ring.next;
    intake.take({ resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics }] }] });
    return Array.from({ length: ring.next - from }, (_, i) => ring.at(from + i)!.flow!.bytes);
  };
  expect(take([point('10.0.0.9', 0, 100)])).toEqual([100]);
  take(Array.from({ length: 25_000 }, (_, i) => point('10.0.0.8', i, 7)));
  expect(take([point('10.0.0.9', 0, 130), point('10.0.0.8', 0, 8), point('10.0.0.8', 24_999, 9)])).toEqual([30, 2]);
});

test('long texts of flows are not kept for as long as their counts, and flows that differ in them stay apart', async () => {
  const clock = new FakeClock(1_795_258_170_000);
  const ring = new StreamRing({ maxBytes: 1e6, maxAgeMs: 3_600_000 });
  const intake = new FlowIntake(ring, clock, nodePods());
  const startNs = clock.now() * 1e6 + 1e9;
  const take = (end: number, value: number): void => {
    // Text that ends differently, with memory of its own.
    const long = Buffer.concat([Buffer.alloc(2 ** 20, 'x'), Buffer.from(String(end))]).toString();
    const point = { attributes: attributes({ long }), startNs, timeNs: startNs, noValue: false, value, exemplars: [] };
    const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points: [point] } as const;
    const metrics = [{ name: 'obi.network.flow.bytes', description: '', unit: '{bytes}', data }];
    intake.take({ resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics }] }] });
  };
  const before = await heapAfterGc();
  for (let end = 0; end < 20; end++) take(end, 7);
  expect((await heapAfterGc()) - before).toBeLessThan(6 * 2 ** 20);
  take(3, 9);
  take(20, 5);
  expect([ring.next - 2, ring.next - 1].map((at) => ring.at(at)!.flow!.bytes)).toEqual([2, 5]);
});

test('a flow is redacted by the rules of its ends before it reaches the ring', () => {
  const clock = new FakeClock(1_795_258_170_000);
  const ring = new StreamRing(large);
  const identity = nodePods(aPod('pay/db-0', { ip: '10.0.0.9' }), aPod('shop/web-0', { ip: '10.0.0.8' }));
  const intake = new FlowIntake(ring, clock, identity);
  const take = (address: string, far: string): FlowRecord => {
    const ends = { 'src.address': address, 'dst.address': '10.1.0.7', 'dst.port': 443, 'src.zone': 'eu-west-1a' };
    const owner = { 'k8s.dst.namespace': far, 'k8s.dst.owner.name': 'ledger', 'k8s.dst.owner.type': 'Deployment' };
    const timeNs = clock.now() * 1e6;
    const point = {
      attributes: attributes({ ...ends, ...owner, other: 'x' }),
      startNs: timeNs,
      timeNs,
      noValue: false,
    };
    const data = {
      kind: 'sum',
      temporality: 'delta',
      monotonic: true,
      points: [{ ...point, value: 7, exemplars: [] }],
    };
    const metrics = [{ name: 'obi.network.flow.bytes', description: '', unit: '{bytes}', data }] as Metric[];
    intake.take({ resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics }] }] });
    return ring.at(ring.next - 1)!.flow!;
  };
  const open = take('10.0.0.9', 'ops');
  const { source, destination } = open;
  expect([source.address, destination.address, destination.workload?.name]).toEqual(['10.0.0.9', '10.1.0.7', 'ledger']);
  expect(open.attributes).toEqual({ other: 'x', 'server.port': '443' });
  const label = (name: string, action: 'Drop' | 'Hash') => ({ name, action });
  const ofPay = ['dst_address', 'k8s_dst_owner_name', 'k8s_src_namespace', 'other'].map((name) => label(name, 'Drop'));
  intake.setConfig({
    redaction: [{ labels: [label('src_address', 'Hash')] }, { namespaces: ['pay'], labels: ofPay }],
  });
  const hashOf9 = createHash('sha256').update('10.0.0.9').digest('hex').slice(0, 16);
  const pay = take('10.0.0.9', 'ops');
  expect([pay.source, pay.attributes]).toEqual([
    { namespace: 'pay', workload: { kind: 'Pod', name: 'db-0' }, node: 'n', address: hashOf9, zone: 'eu-west-1a' },
    { 'server.port': '443' },
  ]);
  expect(pay.destination).toEqual({ namespace: 'ops', port: 443 });
  expect(take('10.0.0.8', 'pay').destination).toEqual({ namespace: 'pay', port: 443 });
  // The rules of pay do not hold between two other namespaces; those of all hold where no end is known.
  expect(take('10.0.0.8', 'ops').destination.address).toBe('10.1.0.7');
  expect(take('10.9.9.9', 'ops').destination.address).toBeUndefined();
  // What is in the ring stays as it was redacted.
  expect(ring.at(0)!.flow!.source.address).toBe('10.0.0.9');
});
