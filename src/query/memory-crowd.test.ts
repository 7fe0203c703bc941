import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import { nodeLabel } from '../api/labels.ts';
import { encodeFrame } from '../base/wire/frames.ts';
import { WireWriter } from '../base/wire/protobuf-wire.ts';
import {
  encodeIndexAnswer,
  encodePartial,
  engineVersion,
  indexContentType,
  partialContentType,
  partialPath,
} from '../promql/index.ts';
import { emptyAnswer } from '../testing/promql/empty-answer.ts';
import type { ApiAnswer } from '../testing/query/api-client.ts';
import { startQueryStage } from '../testing/query/query-stage.ts';
import type { QueryStage } from '../testing/query/query-stage.ts';
import { until } from '../testing/until.ts';
import { encodeReadRequest, labelsFromObject, responseType, snappyCompress } from '../tsdb/index.ts';

const limitBytes = 8 * 1024 ** 2;
const steps = 2_500;
const seriesOfNode = 50;
const crowd = 10;
/** Bytes of a query's operand: one value for each step of each series. The result of the query takes as much again. */
const operandBytes = 2 * seriesOfNode * steps * 8;

/**
 * Runs many large queries at the same time. Returns the most bytes that they held together, how often a query was
 * restarted for lack of memory, and the statuses of the answers.
 */
async function holdTogether(queryMemory: number): Promise<{ peak: number; restarts: number; statuses: number[] }> {
  const stage = await startQueryStage({ nodes: ['node-1', 'node-2'], flags: { queryMemory: String(queryMemory) } });
  try {
    const now = Date.now();
    for (const node of ['node-1', 'node-2']) {
      for (let i = 0; i < seriesOfNode; i++) {
        stage.cluster.append(node, { __name__: 'x', i: `${i}`, k8s_node_name: node }, now - 1_000, i);
      }
    }
    const { runner } = stage.server;
    let peak = 0;
    let isRunning = true;
    const watch = (): void => {
      peak = Math.max(peak, runner.heldBytes);
      if (isRunning) setImmediate(watch);
    };
    watch();
    const answers = await Promise.all(
      Array.from({ length: crowd }, (_, i) => {
        const query = `quantile(0.5, x @ ${now / 1000} * on () group_left () vector(time() + ${i}))`;
        const range = { start: `${now / 1000 - steps}`, end: `${now / 1000}`, step: '1', timeout: '60s' };
        return stage.ask('/api/v1/query_range', { query, ...range }, { headers: { 'x-svc-pushdown': 'off' } });
      }),
    );
    isRunning = false;
    expect(runner.heldBytes).toBe(0);
    return { peak, restarts: runner.memoryRestarts, statuses: answers.map(({ status }) => status) };
  } finally {
    await stage.close();
  }
}

test('ten large queries at the same time hold no more bytes than `queryMemory`, and all are answered', async () => {
  const { peak, restarts, statuses } = await holdTogether(limitBytes);
  expect(statuses).toEqual(Array.from({ length: crowd }, () => 200));
  expect(peak).toBeLessThanOrEqual(limitBytes);
  expect(peak).toBeGreaterThan(operandBytes);
  expect(restarts).toBeGreaterThan(0);
}, 60_000);

test('with a far larger `queryMemory` the same queries hold several times as much', async () => {
  // On a busy machine the queries may begin so far apart that hardly any two run at the same time.
  let most = 0;
  for (let i = 0; i < 3 && most <= 2 * limitBytes; i++) {
    const { peak, restarts } = await holdTogether(2 ** 40);
    most = Math.max(most, peak);
    expect(restarts).toBe(0);
  }
  expect(most).toBeGreaterThan(2 * limitBytes);
}, 60_000);

test('the forms of waiting requests are held within a limit, and other requests are still served', async () => {
  const stage = await startQueryStage({ nodes: ['node-1'], flags: { maxConcurrency: '1' } });
  const hanging: (() => void)[] = [];
  const answer = (): void => {
    stage.cluster.agents[0]!.misbehave = undefined;
    for (const end of hanging) end();
  };
  try {
    stage.cluster.agents[0]!.misbehave = (_req, res) => void hanging.push(() => res.destroy());
    const statuses: number[] = [];
    const forms = Array.from({ length: 12 }, async () => {
      const { status } = await stage.ask('/api/v1/query', { query: 'x', junk: '-'.repeat(2 ** 20) }, { form: true });
      statuses.push(status);
    });
    // A caller may hold 8 MiB.
    await until('some are refused', () => statuses.length === 4);
    expect(statuses).toEqual([429, 429, 429, 429]);
    expect((await stage.ask('/api/v1/format_query', { query: 'x' }, { form: true })).status).toBe(200);
    await until('one asks the agent', () => hanging.length > 0);
    answer();
    await Promise.all(forms);
    expect(statuses.slice(4)).toEqual(Array.from({ length: 8 }, () => 200));
    const later = await stage.ask('/api/v1/format_query', { query: 'x', junk: '-'.repeat(2 ** 20) }, { form: true });
    expect(later.status).toBe(200);
  } finally {
    answer();
    await stage.close();
  }
}, 60_000);

test('the body of a remote read is held only until it is decoded', async () => {
  const stage = await startQueryStage({ nodes: ['node-1'] });
  const hanging: (() => void)[] = [];
  const statuses: number[] = [];
  const reads: Promise<unknown>[] = [];
  try {
    stage.cluster.agents[0]!.misbehave = (_req, res) => void hanging.push(() => res.destroy());
    const matchers = [{ type: '=' as const, name: '__name__', value: 'x' }];
    const queries = [{ startMs: 0, endMs: 1_000, matchers }];
    // A field of 2,000,000 bytes that the protocol does not know.
    const unknown = Buffer.concat([Buffer.of(0x7a, 0x80, 0x89, 0x7a), randomBytes(2_000_000)]);
    const message = Buffer.concat([
      encodeReadRequest({ queries, accepted: [responseType.streamedXorChunks] }),
      unknown,
    ]);
    const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' };
    // Together the bodies are more than the 8 MiB that a caller may hold.
    for (let i = 1; i <= 5; i++) {
      const read = stage.ask('/api/v1/read', {}, { body: snappyCompress(message), headers });
      reads.push(read.then(({ status }) => statuses.push(status)));
      await until('the agent is asked, or the read is refused', () => hanging.length === i || statuses.length > 0);
    }
    expect(statuses).toEqual([]);
  } finally {
    stage.cluster.agents[0]!.misbehave = undefined;
    for (const end of hanging) end();
    await Promise.all(reads);
    await stage.close();
  }
}, 60_000);

/** Status and first bytes of the answer to a remote read that accepts this response type. */
async function remoteRead(stage: QueryStage, type: number, startMs: number): Promise<{ status: number; text: string }> {
  const matchers = [{ type: '=' as const, name: '__name__', value: 'x' }];
  const queries = [{ startMs, endMs: startMs + 3_600_000, matchers }];
  const { ca } = stage.cluster;
  const options = { host: '127.0.0.1', servername: 'localhost', port: stage.server.port, ca: ca.cert };
  const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' };
  return new Promise((resolve, reject) => {
    const req = request({ ...options, path: '/api/v1/read', method: 'POST', headers }, (res) => {
      let text = '';
      res.on('data', (part: Buffer) => (text = (text + part.toString('latin1')).slice(0, 1_000)));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text })).on('error', reject);
    });
    req.on('error', reject).end(snappyCompress(encodeReadRequest({ queries, accepted: [type] })));
  });
}

test('a SAMPLES remote read takes the memory of its whole answer in advance; a streamed one does not', async () => {
  const samples = 40_000;
  const stage = await startQueryStage({ nodes: ['node-1'], flags: { queryMemory: '1000000' } });
  try {
    const from = Date.now() - 3_600_000;
    for (let i = 0; i < samples; i++) {
      stage.cluster.append('node-1', { __name__: 'x', k8s_node_name: 'node-1' }, from + i * 50, i);
    }
    // `queryMemory` and what each query has for free are enough for the samples, not for a whole SAMPLES answer.
    const refused = await remoteRead(stage, responseType.samples, from);
    expect(refused).toMatchObject({ status: 400, text: expect.stringMatching(/the query would hold \d+ bytes/) });
    expect((await remoteRead(stage, responseType.streamedXorChunks, from)).status).toBe(200);
    expect(stage.server.runner.heldBytes).toBe(0);
  } finally {
    await stage.close();
  }
}, 60_000);

interface Growing {
  readonly add: (i: number) => void;
  readonly ask: () => Promise<ApiAnswer>;
  readonly few: number;
  readonly many: number;
}

/** Expects that memory suffices for few items, and not for many. Returns the answer of few. */
async function fewFitManyDoNot(stage: QueryStage, { add, ask, few, many }: Growing): Promise<ApiAnswer> {
  for (let i = 0; i < few; i++) add(i);
  const answer = await ask();
  expect(answer.status).toBe(200);
  for (let i = few; i < many; i++) add(i);
  const refused = await ask();
  expect(refused.status).toBe(422);
  expect(refused.json.error).toMatch(/the query would hold \d+ bytes/);
  expect(stage.server.runner.heldBytes).toBe(0);
  return answer;
}

test('the exemplars of all agents are held within `queryMemory`', async () => {
  const stage = await startQueryStage({ nodes: ['node-1'], flags: { queryMemory: '1000000' } });
  try {
    const timeNs = 1_700_000_000e9;
    const add = (i: number): void => {
      const labels = labelsFromObject({ __name__: 'x_bucket', k8s_pod_name: `pod-${i}`, le: '0.25' });
      stage.cluster.agents[0]!.exemplars.add({ labels }, { timeNs, value: 1, traceId: 'a'.repeat(32), spanId: '' });
    };
    const ask = () => stage.ask('/api/v1/query_exemplars', { query: '{__name__=~".+"}' });
    const few = await fewFitManyDoNot(stage, { add, ask, few: 500, many: 5_000 });
    expect(few.json.data).toHaveLength(500);
  } finally {
    await stage.close();
  }
}, 60_000);

test('the lines of a federation count as memory of their query before they are made', async () => {
  const stage = await startQueryStage({ nodes: ['node-1'], flags: { queryMemory: '1000000' } });
  try {
    const now = Date.now();
    // The samples and the label that all series share are small; each line has the label's text again.
    const add = (i: number): void =>
      stage.cluster.append('node-1', { __name__: 'x', i: `${i}`, long: 'v'.repeat(2_000) }, now - 1_000, i);
    const ask = () => stage.ask('/federate', { 'match[]': 'x' });
    const few = await fewFitManyDoNot(stage, { add, ask, few: 200, many: 1_000 });
    expect(few.text.split('\n')).toHaveLength(202);
  } finally {
    await stage.close();
  }
}, 60_000);

test('the texts of an agent’s answer, and the labels that are made of them, are held within `queryMemory`', async () => {
  const stage = await startQueryStage({ nodes: ['node-1'], flags: { queryMemory: '1000000' } });
  const node = 'node-1';
  const agent = { node, labelsOwned: [nodeLabel], minT: null, maxT: null, partitionClean: true, engineVersion };
  /** More texts than there is memory for; neither the query's entries for them nor this agent's take all of it. */
  const partialFrames = (planHash: string): Uint8Array[] => {
    const [header] = encodePartial({ planHash, ...agent }, emptyAnswer, { waitMs: 0, evaluateMs: 0 });
    const dictionary = new WireWriter().message(2, (m) => {
      for (let i = 0; i < 24_000; i++) m.string(1, `text-${i}`);
    });
    return [header!, encodeFrame(dictionary.finish())];
  };
  const series = Array.from({ length: 12_000 }, (_, i) =>
    labelsFromObject({ __name__: 'x', [nodeLabel]: node, pod: `pod-${String(i).padStart(5, '0')}` }),
  );
  const listFrames = encodeIndexAnswer({ kind: 'series', node, partitionClean: true }, { texts: [], series });
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { planHash } = (await json(req)) as { planHash: string };
    const isPartial = req.url === partialPath;
    res.writeHead(200, { 'content-type': isPartial ? partialContentType : indexContentType });
    res.end(Buffer.concat(isPartial ? partialFrames(planHash) : [...listFrames]));
  };
  try {
    stage.cluster.agents[0]!.misbehave = (req, res) => void answer(req, res);
    const query = await stage.ask('/api/v1/query', { query: 'sum(x)', time: '1700000000' });
    const list = await stage.ask('/api/v1/series', { 'match[]': 'x', start: '1700000000', end: '1700000001' });
    for (const refused of [query, list]) {
      expect([refused.status, refused.json.error]).toEqual([
        422,
        expect.stringMatching(/the query would hold \d+ bytes/),
      ]);
    }
    expect(stage.server.runner.heldBytes).toBe(0);
  } finally {
    await stage.close();
  }
}, 60_000);

test('metadata that fills the memory does not wait for the places of lists that wait for this memory', async () => {
  const stage = await startQueryStage({
    nodes: ['node-1'],
    flags: { queryMemory: '2000000', tenancy: 'true' },
    reviews: { reviewToken: async (token) => ({ username: token }), mayAccessPath: async () => true },
    tenants: {
      reviews: { mayReadPods: async (_user, namespace) => namespace === 'shop' },
      namespaces: { synced: true, names: () => ['shop'] },
    },
  });
  const ask = (path: string) => stage.ask(path, { timeout: '20s' }, { headers: { authorization: 'Bearer shop' } });
  const entry = [{ type: 'gauge', help: '', unit: '' }];
  const data = Object.fromEntries(Array.from({ length: 14_000 }, (_, i) => [`load_${i}`, entry]));
  const metadataText = JSON.stringify({ status: 'success', data });
  const { runner } = stage.server;
  const listing = Promise.withResolvers<void>();
  let lists = 0;
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (req.url === '/api/v1/metadata') return void res.end(metadataText);
    const { kind, label } = (await json(req)) as { kind: 'values'; label: string };
    if (label !== '__name__') {
      lists++;
      await listing.promise;
    } else await until('the lists are short of memory', () => runner.memoryRestarts >= 4);
    const texts =
      label === '__name__' ? ['load_7'] : Array.from({ length: 500 }, (_, i) => `${i}`.padStart(6_000, '0'));
    res.writeHead(200, { 'content-type': indexContentType });
    res.end(
      Buffer.concat([...encodeIndexAnswer({ kind, node: 'node-1', partitionClean: true }, { texts, series: [] })]),
    );
  };
  stage.cluster.agents[0]!.misbehave = (req, res) => void answer(req, res);
  try {
    const values = Array.from({ length: 4 }, (_, i) => ask(`/api/v1/label/pod_${i}/values`));
    await until('the lists of this user have all their places', () => lists === 4);
    const metadata = ask('/api/v1/metadata');
    // A query takes five bytes for each of such an answer; its first 2 MiB do not count.
    const heldBytes = 5 * metadataText.length - 2 * 1024 ** 2;
    await until('the metadata is in memory', () => runner.heldBytes >= heldBytes);
    listing.resolve();
    const { json: found } = await metadata;
    expect(found).toMatchObject({ status: 'success', data: { load_7: entry } });
    expect((await Promise.all(values)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  } finally {
    listing.resolve();
    await stage.close();
  }
}, 60_000);
