import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { silentLogger } from '../../base/logger.ts';
import { type AgentStatus, type CaptureConfig, zeroConfig } from '../../capture/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { heapAfterGc } from '../../testing/heap.ts';
import { until } from '../../testing/until.ts';
import { snappyDecompress } from '../../tsdb/remote-read/snappy.ts';
import { type Labels, labelsFromObject } from '../../tsdb/index.ts';
import type { Exemplar } from '../otlp/model.ts';
import { destinationsOf } from './destination.ts';
import { Exports } from './exports.ts';
import type { SeriesMeta } from './queue/record.ts';

/** All destinations are one server. Its answers have the header of remote write 2.0 that counts written samples. */
let dir: string;
let server: Server;
let url: string;
let clock: FakeClock;
let exports: Exports;
let registry: Registry;
const requests: { path: string; headers: IncomingHttpHeaders; body: Buffer }[] = [];
let answer: { status: number; text: string };

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'exports-'));
  requests.length = 0;
  answer = { status: 204, text: '' };
  server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      requests.push({ path: req.url ?? '', headers: req.headers, body: Buffer.concat(chunks) });
      res.writeHead(answer.status, { 'x-prometheus-remote-write-samples-written': '1' }).end(answer.text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  clock = new FakeClock();
  exports = anExports(1 << 20);
});
afterEach(async () => {
  await exports.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true });
});

const counterOf = (family: string): SeriesMeta => ({ family, type: 'counter', help: '', unit: '' });

function anExports(maxBytes: number, metaOf = counterOf, logger = silentLogger): Exports {
  registry = new Registry();
  return new Exports({
    dir,
    maxBytes,
    node: 'n1',
    version: '1',
    clock,
    random: () => 0.5,
    logger,
    registry,
    metaOf,
  });
}

type Rule = NonNullable<CaptureConfig['exports']>[number];

const config = (change: Partial<CaptureConfig>): CaptureConfig => ({
  ...zeroConfig({ node: 'n1', ports: '80', instrumentVersion: 'v0.10.0' }),
  ...change,
});
const policyExport = (name: string, change: Partial<Rule> = {}): Rule => ({
  policy: 'p',
  name,
  type: 'RemoteWrite',
  endpoint: `${url}/${name}`,
  ...change,
});

/** A series stays one object; only its newest exemplar changes. */
const held = new WeakMap<Labels, { labels: Labels; exemplar: Exemplar | null }>();

async function take(labels: Labels, exemplar: Exemplar | null = null): Promise<void> {
  const series = held.get(labels) ?? { labels, exemplar };
  held.set(labels, series);
  series.exemplar = exemplar;
  exports.sample(series, clock.now(), 1);
  await exports.commit();
}

const statusOf = (name: string): NonNullable<AgentStatus['exports']>[number] | undefined =>
  exports.statuses().find((s) => s.name === name);

/** Advances the clock of the exporters until the condition holds. */
const comesTrue = (holds: () => boolean): Promise<unknown> =>
  until('what the exporters do', async () => {
    await clock.advance(1_000);
    return holds();
  });

const series = labelsFromObject({ __name__: 'http_server_x', k8s_namespace_name: 'shop', k8s_pod_name: 'web-1' });

test('a destination waits for the Secret that it refers to, says so, and then sends with it', async () => {
  exports.setConfig(config({ exports: [policyExport('a', { secret: 'ns/s/key' })] }));
  await take(series);
  await comesTrue(() => statusOf('a')?.state === 'NoSecret');
  expect(requests).toEqual([]);
  exports.setSecrets({ revision: 'r1', secrets: { 'ns/s/key': 'token-1\n' } });
  await comesTrue(() => requests.length > 0);
  expect(requests[0]!.headers.authorization).toBe('Bearer token-1');
  await comesTrue(() => statusOf('a')?.state === 'Sending');
  exports.setSecrets({ revision: 'r2', secrets: { 'ns/s/key': 'Basic dXNlcjpwdw==' } });
  await take(series);
  await comesTrue(() => requests.at(-1)!.headers.authorization === 'Basic dXNlcjpwdw==');
});

test('a destination whose Secret was delivered no longer waits for it, even if there is nothing to send', async () => {
  exports.setConfig(config({ exports: [policyExport('a', { secret: 'ns/s/key' })] }));
  await comesTrue(() => statusOf('a')?.state === 'NoSecret');
  exports.setSecrets({ revision: 'r1', secrets: { 'ns/s/key': 'token-1\n' } });
  await comesTrue(() => statusOf('a')?.state === 'Sending');
  expect(statusOf('a')).not.toHaveProperty('message');
  expect(requests).toEqual([]);
});

test('a monitor may send only to hosts that a policy lists, and its data waits until a policy lists its host', async () => {
  const monitor = (allow: string[]): CaptureConfig['monitors'][number] =>
    ({
      namespace: 'shop',
      name: 'm',
      pods: ['web-1'],
      exports: [{ name: 'b', type: 'RemoteWrite', endpoint: `${url}/b`, allow }],
    }) as unknown as CaptureConfig['monitors'][number];
  exports.setConfig(config({ monitors: [monitor(['*.example.com'])] }));
  await take(series);
  await comesTrue(() => statusOf('b')?.state === 'NotAllowed');
  expect(statusOf('b')?.message).toMatch(/127\.0\.0\.1 is in no exportAllowList/);
  expect(requests).toEqual([]);
  exports.setConfig(config({ monitors: [monitor(['127.0.0.1'])] }));
  await comesTrue(() => statusOf('b')?.state === 'Sending' && requests.length > 0);
  expect(requests[0]!.path).toBe('/b');
});

test('an exemplar goes out once, with the first sample after it', async () => {
  exports.setConfig(config({ exports: [policyExport('a')] }));
  const traceId = (n: number): string => String(n).repeat(32);
  const seen = (): string[] =>
    requests.map(({ body }) => {
      const text = snappyDecompress(body, 1e6);
      return [1, 2].filter((n) => Buffer.from(text).includes(traceId(n))).join();
    });
  for (const [i, n] of [1, 1, 2].entries()) {
    await take(series, { timeNs: n * 1e9, value: 0.1, traceId: traceId(n), spanId: '' });
    await comesTrue(() => requests.length > i);
  }
  expect(seen()).toEqual(['1', '', '2']);
});

test('a config that changes nothing for a series neither defines it again in the queue nor sends its exemplar again', async () => {
  const exemplar = { timeNs: 1e9, value: 0.1, traceId: '1'.repeat(32), spanId: '' };
  const sizes: number[] = [0];
  const secret = 'ns/s/key';
  for (const others of [[], [], ['b'], ['b', 'c'], []]) {
    exports.setConfig(config({ exports: ['a', ...others].map((name) => policyExport(name, { secret })) }));
    await take(series, exemplar);
    sizes.push(statusOf('a')!.pendingBytes);
  }
  const [first, ...more] = sizes.slice(1).map((size, i) => size - sizes[i]!);
  expect(more).toEqual(more.map(() => more[0]));
  expect(more[0]).toBeLessThan(first! / 2);
});

test('the parts of a histogram share the text that holds them together', async () => {
  const meta: SeriesMeta = { family: 'h', type: 'histogram', help: '', unit: '' };
  await exports.close();
  exports = anExports(1 << 20, () => meta);
  exports.setConfig(waiting());
  const a = 'x'.repeat(10_000);
  const labels = Array.from({ length: 1_000 }, (_, i) => labelsFromObject({ __name__: 'h_bucket', le: `${i}`, a }));
  const before = await heapAfterGc();
  for (const one of labels) exports.sample({ labels: one, exemplar: null }, clock.now(), 1);
  expect((await heapAfterGc()) - before).toBeLessThan(5e6);
});

test.each([200, 400])('after an answer %i with a very long body, the request is not sent again', async (status) => {
  answer = { status, text: 'x'.repeat(1 << 20) };
  exports.setConfig(config({ exports: [policyExport('a')] }));
  await take(series);
  await comesTrue(() => statusOf('a')?.pendingBytes === 0 && requests.length > 0);
  await clock.advance(60_000);
  expect(requests).toHaveLength(1);
});

test('a destination whose queue cannot be opened is Failing, and is tried again after half a minute', async () => {
  const both = config({ exports: [policyExport('a'), policyExport('b')] });
  const [path] = destinationsOf(both).map(({ id }) => join(dir, id));
  writeFileSync(path!, '');
  exports.setConfig(both);
  await take(series);
  await comesTrue(() => statusOf('b')?.sent === 1);
  expect(statusOf('a')).toMatchObject({ state: 'Failing', message: expect.stringMatching(/^queue: .*EEXIST/) });
  await clock.advance(30_000);
  expect(statusOf('a')?.state).toBe('Failing');
  rmSync(path!);
  await clock.advance(30_000);
  expect(
    exports
      .statuses()
      .map(({ name, state }) => `${name} ${state}`)
      .toSorted(),
  ).toEqual(['a Sending', 'b Sending']);
  await take(series);
  await comesTrue(() => statusOf('a')?.sent === 1);
});

test('what a destination misses while its queue cannot be opened is counted, and only what it wants', async () => {
  const wants = (name: string, change: Partial<Rule>): Rule => policyExport(name, { namespaces: ['shop'], ...change });
  const all = config({
    exports: [wants('a', { spans: true }), policyExport('b', { namespaces: ['pay'], spans: true })],
  });
  for (const { id } of destinationsOf(all)) writeFileSync(join(dir, id), '');
  exports.setConfig(all);
  const missed = async (): Promise<string[]> =>
    [...(await registry.metrics()).matchAll(/_dropped_total{destination=".*\/(\w)",reason="disk"} (\d+)/g)]
      .map(([, name, count]) => `${name} ${count}`)
      .toSorted();
  await take(series);
  expect(await missed()).toEqual(['a 1', 'b 0']);
  exports.stale(held.get(series)!, clock.now());
  const ids = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), start: '2026-11-21T10:49:21.000000000Z' };
  const own = { name: 'GET /', kind: 'server', status: 'unset', durationNs: 1, attributes: {} } as const;
  exports.span({ ...ids, ...own, namespace: 'shop' }, 0n);
  expect(await missed()).toEqual(['a 3', 'b 0']);
  for (const { id } of destinationsOf(all)) rmSync(join(dir, id));
  await clock.advance(30_000);
  await take(series);
  await comesTrue(() => statusOf('a')?.sent === 1);
  expect(await missed()).toEqual(['a 3', 'b 0']);
});

test('a destination whose saved position the disk has failed to read for a minute sends again from its oldest file', async () => {
  const one = config({ exports: [policyExport('a')] });
  const folder = join(dir, destinationsOf(one)[0]!.id);
  mkdirSync(folder);
  symlinkSync('progress.json', join(folder, 'progress.json'));
  exports.setConfig(one);
  await clock.advance(30_000);
  // Configs may come often: what counts is for how long the read fails.
  for (let i = 0; i < 10; i++) exports.setConfig(one);
  expect(statusOf('a')).toMatchObject({ state: 'Failing', message: expect.stringMatching(/^queue: .*ELOOP/) });
  await clock.advance(30_000);
  expect(statusOf('a')?.state).toBe('Sending');
  await take(series);
  await comesTrue(() => statusOf('a')?.sent === 1);
});

test('a saved position is kept until the disk has failed to read it for a minute, whatever failed before', async () => {
  const one = config({ exports: [policyExport('a')] });
  const folder = join(dir, destinationsOf(one)[0]!.id);
  writeFileSync(folder, '');
  exports.setConfig(one);
  await clock.advance(60_000);
  expect(statusOf('a')?.message).toMatch(/^queue: .*EEXIST/);
  rmSync(folder);
  mkdirSync(folder);
  symlinkSync('progress.json', join(folder, 'progress.json'));
  await clock.advance(30_000);
  expect(statusOf('a')).toMatchObject({ state: 'Failing', message: expect.stringMatching(/^queue: .*ELOOP/) });
  await clock.advance(60_000);
  expect(statusOf('a')?.state).toBe('Sending');
});

test('a destination whose queue cannot be opened leaves the status with the config', async () => {
  const one = config({ exports: [policyExport('a')] });
  const path = join(dir, destinationsOf(one)[0]!.id);
  writeFileSync(path, '');
  exports.setConfig(one);
  exports.setConfig(config({}));
  await clock.advance(30_000);
  expect(exports.statuses()).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});

test('a destination whose files cannot be read is reported as Failing, and sends them once they can', async () => {
  exports.setConfig(config({ exports: [policyExport('a')] }));
  await take(series);
  const folder = join(dir, readdirSync(dir)[0]!);
  const path = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.log'))!,
  );
  renameSync(path, `${path}.kept`);
  symlinkSync(path, path);
  await comesTrue(() => statusOf('a')?.state === 'Failing');
  expect(statusOf('a')?.message).toMatch(/^queue: .*ELOOP/);
  renameSync(`${path}.kept`, path);
  await comesTrue(() => statusOf('a')?.state === 'Sending' && statusOf('a')?.sent === 1);
});

test('a batch that is tried again is given up once the full queue has dropped it', async () => {
  answer = { status: 503, text: '' };
  exports.setConfig(config({ exports: [policyExport('a')] }));
  await take(series);
  await comesTrue(() => requests.length > 0);
  const filler = Array.from({ length: 40 }, (_, i) => labelsFromObject({ __name__: 'x', i: String(i).repeat(25_000) }));
  for (const labels of filler) await take(labels);
  await until('the drop', async () => /_dropped_total{.*reason="queue_full"} [1-9]/.test(await registry.metrics()));
  const before = requests.length;
  answer = { status: 204, text: '' };
  await comesTrue(() => statusOf('a')?.pendingBytes === 0);
  const texts = requests.slice(before).map(({ body }) => Buffer.from(snappyDecompress(body, 1e8)).toString());
  expect(texts.some((text) => text.includes('39393939'))).toBe(true);
  expect(texts.some((text) => text.includes('http_server_x'))).toBe(false);
});

test('each destination gets only the families, namespaces and pods that its rule selects', async () => {
  exports.setConfig(
    config({
      exports: [
        policyExport('all'),
        policyExport('flows', { families: ['NetworkFlow'] }),
        policyExport('other', { namespaces: ['elsewhere'] }),
      ],
    }),
  );
  await take(series);
  await comesTrue(() => (statusOf('all')?.sent ?? 0) === 1);
  expect(requests.map((r) => r.path)).toEqual(['/all']);
  await take(labelsFromObject({ __name__: 'ebpf_network_flow_bytes', k8s_dst_namespace: 'elsewhere' }));
  await comesTrue(() => ['all', 'flows', 'other'].every((name) => statusOf(name)?.pendingBytes === 0));
  expect(requests.map((r) => r.path).toSorted()).toEqual(['/all', '/all', '/flows', '/other']);
});

/** A destination whose Secret is missing, so that its samples stay in the queue. */
const waiting = (): CaptureConfig => config({ exports: [policyExport('a', { secret: 'ns/s/key' })] });

test('what a destination drops is counted from 0 on, so that an increase has the first loss', async () => {
  exports.setConfig(config({ exports: [policyExport('a')] }));
  const dropped = (await registry.metrics()).split('\n').filter((line) => line.startsWith('svc_export_dropped_total'));
  const own = 'destination="ClusterTrafficPolicy/p/a"';
  expect(dropped.sort()).toEqual(
    ['corrupt', 'disk', 'queue_full', 'refused', 'removed', 'too_large'].map(
      (reason) => `svc_export_dropped_total{${own},reason="${reason}"} 0`,
    ),
  );
});

/** The names of the metrics that have the destination `ClusterTrafficPolicy/p/a`. */
async function metricsOfA(): Promise<string[]> {
  exports.statuses();
  const own = /^(\w+){destination="ClusterTrafficPolicy\/p\/a"[,}]/gm;
  return [...new Set((await registry.metrics()).matchAll(own).map(([, name]) => name!))].toSorted();
}

test('the metrics of a destination disappear when the last queue under its name is removed', async () => {
  answer = { status: 503, text: '' };
  exports.setConfig(config({ exports: [policyExport('a')] }));
  await take(series);
  await comesTrue(() => requests.length > 0);
  answer = { status: 204, text: '' };
  await comesTrue(() => statusOf('a')?.sent === 1);
  const all = await metricsOfA();
  const metrics = ['dropped_total', 'failures_total', 'last_success_timestamp_seconds', 'pending_bytes', 'sent_total'];
  expect(all).toEqual(metrics.map((name) => `svc_export_${name}`));
  // Another address under the same name is another queue.
  exports.setConfig(config({ exports: [policyExport('a', { endpoint: `${url}/b` })] }));
  await clock.advance(60_000);
  expect(await metricsOfA()).toEqual(all);
  await take(series);
  await comesTrue(() => statusOf('a')?.sent === 1);
  exports.setConfig(config({}));
  await until('the metrics are gone', async () => {
    await clock.advance(10_000);
    return (await metricsOfA()).length === 0;
  });
  expect(await registry.metrics()).not.toContain('destination="');
});

test('the metrics of a destination whose queue cannot be opened disappear with the last config that has its name', async () => {
  const configs = ['a', 'b'].map((path) => config({ exports: [policyExport('a', { endpoint: `${url}/${path}` })] }));
  for (const one of configs) {
    writeFileSync(join(dir, destinationsOf(one)[0]!.id), '');
    exports.setConfig(one);
    expect(await metricsOfA()).toEqual(['svc_export_dropped_total']);
  }
  exports.setConfig(config({}));
  expect(await registry.metrics()).not.toContain('destination="');
});

test('all queues together stay within their bound, as destinations come one after another, and leave', async () => {
  const megabyte = 2 ** 20;
  await exports.close();
  exports = anExports(8 * megabyte);
  const all = ['a', 'b', 'c', 'd'].map((name) => policyExport(name, { secret: 'ns/s/key' }));
  const onDisk = (): number =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.log'))
      .reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  const fill = async (): Promise<void> => {
    for (let i = 0; i < 40; i++) await take(labelsFromObject({ __name__: 'x', i: `${i} `.repeat(100_000) }));
  };
  const sizes: number[] = [];
  for (let count = 1; count <= all.length; count++) {
    exports.setConfig(config({ exports: all.slice(0, count) }));
    await fill();
    sizes.push(onDisk() / megabyte);
  }
  // A file that is being written may lie beyond the bound.
  expect(sizes.map((size) => size > 5 && size < 9)).toEqual([true, true, true, true]);
  exports.setConfig(config({ exports: all.slice(3) }));
  await clock.advance(60_000);
  await until('the removal of the folders', () => readdirSync(dir).length === 1);
  await fill();
  expect(onDisk() / megabyte).toBeGreaterThan(6);
});

test('a destination that leaves takes no disk from the others but what it has', async () => {
  await exports.close();
  exports = anExports(4 << 20);
  const [a, b] = ['a', 'b'].map((name) => policyExport(name, { secret: 'ns/s/key' }));
  exports.setConfig(config({ exports: [a!, b!] }));
  await take(series);
  exports.setConfig(config({ exports: [a!] }));
  for (let i = 0; i < 18; i++) await take(labelsFromObject({ __name__: 'x', i: `${i} `.repeat(70_000) }));
  expect(await registry.metrics()).not.toMatch(/reason="queue_full"} [1-9]/);
});

test('a destination that leaves while its newest samples are being written still sends all', async () => {
  const [a] = waiting().exports!;
  exports.setConfig(config({ exports: [a!, policyExport('b')] }));
  await take(labelsFromObject({ __name__: 'x', i: '0 '.repeat(50_000) }));
  exports.sample({ labels: series, exemplar: null }, clock.now(), 1);
  exports.setConfig(config({ exports: [policyExport('b')] }));
  await exports.commit();
  expect(await registry.metrics()).not.toMatch(/reason="queue_full"} [1-9]/);
  exports.setSecrets({ revision: 'r1', secrets: { 'ns/s/key': 'token' } });
  const sent = (): string =>
    requests
      .filter(({ path }) => path === '/a')
      .map(({ body }) => Buffer.from(snappyDecompress(body, 1e8)).toString())
      .join();
  await comesTrue(() => sent().includes('http_server_x'));
  expect(sent()).toContain('0 0 0');
});

test('a destination that comes back while its removal is under way keeps its queue', async () => {
  exports.setConfig(waiting());
  await take(series);
  exports.setConfig(config({}));
  await clock.advance(30_000);
  exports.setConfig(waiting());
  await take(series);
  exports.setSecrets({ revision: 'r1', secrets: { 'ns/s/key': 'token' } });
  await comesTrue(() => statusOf('a')?.pendingBytes === 0);
  expect(requests).toHaveLength(1);
  await take(series);
  await comesTrue(() => requests.length === 2);
});

test('a destination that was removed twice has 30 seconds from the second removal to send the rest', async () => {
  exports.setConfig(waiting());
  await take(series);
  exports.setConfig(config({}));
  await clock.advance(20_000);
  exports.setConfig(waiting());
  exports.setConfig(config({}));
  await clock.advance(15_000);
  exports.setSecrets({ revision: 'r1', secrets: { 'ns/s/key': 'token' } });
  await clock.advance(2_000);
  await until('the sample', () => requests.length === 1);
  await clock.advance(13_000);
  await until('the removal of its folder', () => readdirSync(dir).length === 0);
});

/** A monitor `shop/m` with a destination that needs a Secret. */
const ofMonitor = (uid: string, pods = ['web-1']): CaptureConfig => {
  const allow = ['127.0.0.1'];
  const rule = { name: 'a', type: 'RemoteWrite', endpoint: `${url}/a`, secret: 'shop/s/key', allow } as const;
  return config({ monitors: [{ namespace: 'shop', name: 'm', uid, pods, exports: [rule] }] });
};

const removedUnsent = async (): Promise<string | undefined> =>
  /_dropped_total{.*reason="removed"} (\d+)/.exec(await registry.metrics())?.[1];

const textOf = ({ body }: { body: Buffer }): string => Buffer.from(snappyDecompress(body, 1e8)).toString();

test.each(['while the agent runs', 'while the agent is away'])(
  'a monitor that was replaced %s leaves its unsent data to none of the same name, and its loss is counted',
  async (when) => {
    exports.setConfig(ofMonitor('u1'));
    await take(series);
    if (when === 'while the agent is away') {
      await exports.close();
      exports = anExports(1 << 20);
    }
    exports.setConfig(ofMonitor('u2'));
    exports.setSecrets({ revision: 'r1', secrets: { 'shop/s/key': 'token-2' } });
    const own = { __name__: 'http_server_y', k8s_namespace_name: 'shop', k8s_pod_name: 'web-1' };
    await take(labelsFromObject(own));
    await comesTrue(() => requests.length > 0 && statusOf('a')?.pendingBytes === 0);
    expect(requests.map((one) => textOf(one).match(/http_server_[xy]/g))).toEqual([['http_server_y']]);
    expect(await removedUnsent()).toBe('1');
  },
);

test('a queue whose folder does not say whose data it has goes on, and belongs to the monitor from then on', async () => {
  const restart = async (uid: string): Promise<void> => {
    await exports.close();
    exports = anExports(1 << 20);
    exports.setConfig(ofMonitor(uid));
  };
  exports.setConfig(ofMonitor('u1'));
  await take(series);
  rmSync(join(dir, destinationsOf(ofMonitor('u1'))[0]!.id, 'owner'));
  await restart('u1');
  await take(series);
  expect(await removedUnsent()).toBe('0');
  await restart('u2');
  await until('the drop', async () => (await removedUnsent()) === '2');
});

test('a queue whose folder does not return whose data it has waits for a minute, then counts as that of another', async () => {
  exports.setConfig(ofMonitor('u1'));
  await take(series);
  await exports.close();
  const path = join(dir, destinationsOf(ofMonitor('u1'))[0]!.id, 'owner');
  rmSync(path);
  symlinkSync(path, path);
  exports = anExports(1 << 20);
  exports.setConfig(ofMonitor('u1'));
  await clock.advance(30_000);
  expect(statusOf('a')).toMatchObject({ state: 'Failing', message: expect.stringMatching(/^queue: .*ELOOP/) });
  await clock.advance(30_000);
  await until('the drop', async () => (await removedUnsent()) === '1');
  await take(series);
  exports.setSecrets({ revision: 'r1', secrets: { 'shop/s/key': 'token' } });
  await comesTrue(() => statusOf('a')?.sent === 1);
  expect(readFileSync(path, 'utf8')).toBe('u1');
});

test('a token ends with the last destination that names it, and does not serve a later one', async () => {
  const secret = 'ns/s/key';
  exports.setConfig(config({ exports: [policyExport('a', { secret }), policyExport('b', { secret: 'ns/t/key' })] }));
  exports.setSecrets({ revision: 'r1', secrets: { [secret]: 'token', 'ns/t/key': 'other' } });
  exports.setConfig(config({ exports: [policyExport('b', { secret: 'ns/t/key' })] }));
  // Not r1, so that a controller that expects it there delivers it again.
  expect(exports.secretsRevision).toBe('reduced');
  await take(series);
  await comesTrue(() => statusOf('b')?.sent === 1);
  exports.setConfig(config({}), 'seed');
  expect(exports.secretsRevision).toBe('reduced');
  exports.setConfig(config({}));
  expect(exports.secretsRevision).toBe('');
  exports.setConfig(config({ exports: ['c', 'd'].map((name) => policyExport(name, { secret })) }));
  await take(series);
  await comesTrue(() => ['c', 'd'].every((name) => statusOf(name)?.state === 'NoSecret'));
  expect(requests.map(({ path }) => path).toSorted()).toEqual(['/b']);
});

test('nothing is sent without the token, also if it is taken back while a round is tried again', async () => {
  answer = { status: 503, text: '' };
  exports.setConfig(waiting());
  exports.setSecrets({ revision: 'r1', secrets: { 'ns/s/key': 'token' } });
  await take(series);
  await comesTrue(() => requests.length > 0);
  exports.setSecrets({ revision: 'r2', secrets: {} });
  await comesTrue(() => statusOf('a')?.state === 'NoSecret');
  answer = { status: 204, text: '' };
  exports.setSecrets({ revision: 'r3', secrets: { 'ns/s/key': 'new' } });
  await comesTrue(() => statusOf('a')?.sent === 1);
  expect(statusOf('a')).toMatchObject({ state: 'Sending', pendingBytes: 0 });
  const shown = requests.map(({ headers }) => headers.authorization);
  expect([new Set(shown.slice(0, -1)), shown.at(-1)]).toEqual([new Set(['Bearer token']), 'Bearer new']);
});

test('a destination that leaves has its token until its queue is removed, whatever is delivered meanwhile', async () => {
  answer = { status: 503, text: '' };
  exports.setConfig(waiting());
  exports.setSecrets({ revision: 'r1', secrets: { 'ns/s/key': 'token' } });
  await take(series);
  await comesTrue(() => requests.length > 0);
  exports.setConfig(config({}));
  exports.setSecrets({ revision: 'r2', secrets: {} });
  const before = requests.length;
  answer = { status: 204, text: '' };
  await comesTrue(() => requests.length > before);
  expect(requests.at(-1)!.headers.authorization).toBe('Bearer token');
  // It comes back, so it needs a token that was delivered to it.
  exports.setConfig(waiting());
  await comesTrue(() => statusOf('a')?.state === 'NoSecret');
});

test('a monitor without pods on the node still sends what waits, however long its receiver is away', async () => {
  answer = { status: 503, text: '' };
  exports.setConfig(ofMonitor('u1'));
  exports.setSecrets({ revision: 'r1', secrets: { 'shop/s/key': 'token' } });
  await take(series);
  await comesTrue(() => requests.length > 0);
  exports.setConfig(ofMonitor('u1', []));
  await clock.advance(60_000);
  expect(statusOf('a')?.pendingBytes).toBeGreaterThan(0);
  answer = { status: 204, text: '' };
  await comesTrue(() => statusOf('a')?.sent === 1);
  expect(textOf(requests.at(-1)!)).toContain('http_server_x');
});

test('what a destination has not sent when its queue is removed is counted as dropped, and logged', async () => {
  await exports.close();
  const lost: unknown[] = [];
  const logger = { ...silentLogger, warn: (message: string, fields?: object) => lost.push({ message, ...fields }) };
  exports = anExports(1 << 20, counterOf, logger);
  exports.setConfig(waiting());
  await take(series);
  await take(series);
  exports.setConfig(config({}));
  await clock.advance(30_000);
  await until('the removal of the folder', () => readdirSync(dir).length === 0);
  const message = 'export data dropped unsent';
  expect(lost).toContainEqual({ message, destination: 'ClusterTrafficPolicy/p/a', items: 2, reason: 'removed' });
  exports.setConfig(waiting());
  await take(series);
  await exports.close();
  exports = anExports(1 << 20, counterOf, logger);
  exports.setConfig(config({}));
  expect(readdirSync(dir)).toEqual([]);
  const folder = destinationsOf(waiting())[0]!.id;
  expect(lost.at(-1)).toEqual({ message, folder, bytes: expect.any(Number), reason: 'removed' });
});
