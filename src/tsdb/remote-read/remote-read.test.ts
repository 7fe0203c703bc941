import { readFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { OperatorError } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import { encodeFrame } from '../../base/wire/frames.ts';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryFiles } from '../../testing/tsdb/memory-files.ts';
import { decodeReadResponse } from '../../testing/tsdb/sampled-response.ts';
import { decodeXorChunk, encodeChunks, encodePoints, SampleBuffer } from '../chunk/index.ts';
import { labelsFromObject, labelsToObject, openStore } from '../index.ts';
import type { Chunk, Matcher, Store } from '../index.ts';
import { encodeSeriesFrame } from './chunked-series.ts';
import {
  buildStreamedRead,
  createRemoteReadHandler,
  decodeReadRequest,
  encodeReadRequest,
  readStreamedSeries,
  responseType,
  snappyCompress,
  snappyDecompress,
  splitQueries,
  streamedContentType,
} from './index.ts';
import type { ChunkedSeries, ReadQuery, ReadRequest, RemoteReadHttpResponse } from './index.ts';
import { encodeLabels } from './label-bytes.ts';
import { encodeReadResponse, encodeTimeSeries } from './sampled-series.ts';

const golden = JSON.parse(readFileSync(new URL('testdata/wire-golden.json', import.meta.url), 'utf8')) as Record<
  'request' | 'frame' | 'histogram' | 'response' | 'snappy',
  string
>;
const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'));
const start = Date.UTC(2026, 0, 1);

const empty = new Uint8Array(0);

function times(count: number, write: () => void): void {
  for (let i = 0; i < count; i++) write();
}

async function* parts(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const part of body) all.push(part);
  return Buffer.concat(all);
}

async function readAll(source: AsyncIterable<Uint8Array>) {
  const out: { labels: Record<string, string>; times: number[]; stale: boolean[]; queryIndex: number }[] = [];
  for await (const { labels, chunks, queryIndex } of readStreamedSeries(streamedContentType, source)) {
    const samples = new SampleBuffer();
    for (const chunk of chunks) decodeXorChunk(chunk.bytes, samples);
    const indexes = Array.from({ length: samples.length }, (_, i) => i);
    out.push({
      labels: labelsToObject(labels),
      times: indexes.map((i) => samples.times[i]!),
      stale: indexes.map((i) => samples.isStaleAt(i)),
      queryIndex,
    });
  }
  return out;
}

describe('bytes of Prometheus', () => {
  const request: ReadRequest = {
    queries: [
      {
        startMs: -5,
        endMs: 1_795_240_800_000,
        matchers: [
          { type: '=', name: '__name__', value: 'up' },
          { type: '!=', name: 'a', value: '' },
          { type: '=~', name: 'b', value: 'x.*' },
          { type: '!~', name: 'c', value: 'é|ü' },
        ],
        hints: { stepMs: 60_000, func: 'rate', startMs: 1, endMs: 2, grouping: ['g', 'h'], by: true, rangeMs: 300_000 },
      },
      { startMs: 1, endMs: 2, matchers: [] },
    ],
    accepted: [responseType.streamedXorChunks, responseType.samples],
  };

  test('a request with every matcher type and hint is read, and so is our encoding of it', () => {
    expect(decodeReadRequest(bytes(golden.request))).toEqual(request);
    expect(decodeReadRequest(encodeReadRequest(request))).toEqual(request);
  });

  test('a streamed frame is read with its stale marker, and our encoding gives the same bytes', async () => {
    const labels = { __name__: 'up', k8s_node_name: 'node-1' };
    expect(await readAll(parts(bytes(golden.frame)))).toEqual([
      { labels, times: [1000, 2000], stale: [false, true], queryIndex: 2 },
    ]);
    const { value: series } = await readStreamedSeries(streamedContentType, parts(bytes(golden.frame))).next();
    const frame = encodeSeriesFrame(encodeLabels(labelsFromObject(labels)), (series as ChunkedSeries).chunks, 2);
    expect(Buffer.from(frame).toString('hex')).toBe(golden.frame);
  });

  test('a SAMPLES answer is read bit for bit, and so is our encoding of it', () => {
    const [first, second] = decodeReadResponse(bytes(golden.response));
    expect(second).toEqual([]);
    const { labels, samples } = first![0]!;
    expect([...samples.times.slice(0, 3)]).toEqual([1000, 2000, -3]);
    expect([samples.isStaleAt(0), samples.isStaleAt(1), samples.values[2]]).toEqual([false, true, 0]);
    const sorted = new SampleBuffer();
    for (const i of [2, 0, 1]) sorted.pushBits(samples.times[i]!, samples.highAt(i), samples.lowAt(i));
    const { bytes: written } = encodeTimeSeries(labels, encodeChunks(sorted), -10, 2000)!;
    const again = decodeReadResponse(encodeReadResponse([[written]]))[0]![0]!;
    expect(again.labels).toEqual(labels);
    expect(again.samples.words.slice(0, 6)).toEqual(sorted.words.slice(0, 6));
  });

  test('snappy blocks of the Go library are read', () => {
    expect(Buffer.from(snappyDecompress(bytes(golden.snappy), 1e6)).toString()).toBe('svc-operator '.repeat(40));
  });
});

test('queries are split into requests that are not too large, in their order', () => {
  const hints = { func: 'rate', grouping: ['ä', 'b'], stepMs: -1, startMs: -1, endMs: -1, rangeMs: -1 };
  const queries = Array.from({ length: 40 }, (_, i): ReadQuery => {
    const value = 'é'.repeat(10 * i);
    return { startMs: -i, endMs: -1, matchers: [{ type: '=~', name: 'name', value }], hints };
  });
  const requests = splitQueries(queries, 1_000);
  expect(requests.flat()).toEqual(queries);
  expect(requests.length).toBeLessThan(queries.length);
  const sizes = requests.map((some) => encodeReadRequest({ queries: some, accepted: [1] }).length);
  expect(Math.max(...sizes)).toBeLessThan(1_000);
  expect(splitQueries(queries.slice(-2), 100)).toHaveLength(2);
});

describe('the server', () => {
  let store: Store;
  const series = Array.from({ length: 30 }, (_, i) =>
    labelsFromObject({ __name__: 'm', i: String(i).padStart(2, '0') }),
  );
  const all: ReadQuery = { startMs: start, endMs: start + 7_000_000, matchers: [] };

  beforeEach(async () => {
    store = await openStore({
      dir: '/s',
      files: new MemoryFiles(),
      clock: new FakeClock(start + 8e6),
      logger: silentLogger,
    });
    for (let k = 0; k < 240; k++)
      for (const [i, labels] of series.entries()) store.append(labels, start + k * 15_000, k + i);
  });
  afterEach(() => store.close());

  const ask = (request: ReadRequest, limits = {}, headers = {}): Promise<RemoteReadHttpResponse> =>
    createRemoteReadHandler(store, limits)({ headers, body: snappyCompress(encodeReadRequest(request)) });
  const text = async (r: RemoteReadHttpResponse): Promise<string> => Buffer.from(await collect(r.body)).toString();

  test('streams every series once, sorted, with all its samples', async () => {
    const { headers, body } = buildStreamedRead([all]);
    const response = await createRemoteReadHandler(store)({ headers, body });
    expect(response.headers['content-type']).toBe(
      'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse',
    );
    const found = await readAll(response.body);
    expect(found.map((s) => s.labels.i)).toEqual(series.map((_, i) => String(i).padStart(2, '0')));
    expect(found.every((s) => s.times.length === 240)).toBe(true);
  });

  test('with reusesParts, all parts of the body share one buffer, and the bytes are the same', async () => {
    const many = Array.from({ length: 2_000 }, (_, i) => labelsFromObject({ __name__: 'many', i: String(i) }));
    for (const labels of many) for (let k = 0; k < 20; k++) store.append(labels, start + k * 15_000, Math.sin(k) * 1e6);
    const { headers, body } = buildStreamedRead([all]);
    const expected = await collect((await createRemoteReadHandler(store)({ headers, body })).body);

    const found: Buffer[] = [];
    const memories = new Set<ArrayBufferLike>();
    for await (const part of (await createRemoteReadHandler(store, { reusesParts: true })({ headers, body })).body) {
      found.push(Buffer.from(part));
      memories.add(part.buffer);
      part.fill(0);
    }
    expect(found.length).toBeGreaterThan(2);
    expect(memories.size).toBe(1);
    expect(Buffer.concat(found).equals(expected)).toBe(true);
  });

  test('cuts chunks to a short window, and gives one sample if only the series are requested', async () => {
    const query = {
      startMs: start + 100_000,
      endMs: start + 200_000,
      matchers: [{ type: '=' as const, name: 'i', value: '03' }],
    };
    const window = await readAll((await ask({ queries: [query], accepted: [1] })).body);
    expect(window.map((s) => s.times.map((t) => (t - start) / 1000))).toEqual([[105, 120, 135, 150, 165, 180, 195]]);
    const names = await readAll(
      (await ask({ queries: [{ ...query, hints: { func: 'series' } }], accepted: [1, 0] })).body,
    );
    expect(names.map((s) => s.times.length)).toEqual([1]);
  });

  test('splits a series over several frames above the frame size', async () => {
    const matchers = [{ type: '=' as const, name: 'i', value: '00' }];
    const response = await ask({ queries: [{ ...all, matchers }], accepted: [1] }, { maxFrameBytes: 100 });
    const found = await readAll(response.body);
    expect(found.length).toBeGreaterThan(1);
    expect(found.flatMap((s) => s.times)).toEqual(Array.from({ length: 240 }, (_, k) => start + k * 15_000));
    expect(new Set(found.map((s) => s.labels.i))).toEqual(new Set(['00']));
  });

  test('answers SAMPLES when the client names no type, and refuses more than the limit', async () => {
    const response = await ask({ queries: [all], accepted: [] });
    expect(response.headers).toMatchObject({ 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' });
    const [result] = decodeReadResponse(snappyDecompress(await collect(response.body), 1e9));
    expect(result!.map((s) => s.samples.length)).toEqual(series.map(() => 240));
    const refused = await ask({ queries: [all], accepted: [0] }, { maxSamples: 7199 });
    expect([refused.status, await text(refused)]).toEqual([400, 'exceeded sample limit (7199)\n']);
    expect((await ask({ queries: [all], accepted: [0] }, { maxSamples: 7200 })).status).toBe(200);
  });

  test('answers several queries, and marks each series with the index of its query', async () => {
    const one = (i: string): ReadQuery => ({ ...all, matchers: [{ type: '=', name: 'i', value: i }] });
    const found = await readAll((await ask({ queries: [one('01'), one('05')], accepted: [1] })).body);
    expect(found.map((s) => [s.queryIndex, s.labels.i])).toEqual([
      [0, '01'],
      [1, '05'],
    ]);
  });

  test.each([
    [
      'unknown response types',
      { accepted: [7] },
      {},
      /^server does not support any of the requested response types: \[7\]/,
    ],
    ['another encoding than snappy', {}, { 'content-encoding': 'gzip' }, /unsupported Content-Encoding "gzip"/],
    [
      'a bad regular expression',
      { queries: [{ ...all, matchers: [{ type: '=~' as const, name: 'a', value: '(' }] }] },
      {},
      /bad regular/,
    ],
  ])('refuses %s with 400 and plain text', async (_, request, headers, message) => {
    const response = await ask({ queries: [all], accepted: [1], ...request }, {}, headers);
    expect([response.status, response.headers['content-type']]).toEqual([400, 'text/plain; charset=utf-8']);
    expect(await text(response)).toMatch(message);
  });

  const labelled = (count: number, value: (i: number) => string): Matcher[] =>
    Array.from({ length: count }, (_, i) => ({ type: '=~', name: `l${i}`, value: value(i) }));

  test.each<[string, ReadQuery[], string]>([
    ['queries', Array.from({ length: 1_001 }, () => ({ ...all, matchers: [] })), 'queries: 1001, at most 1000'],
    [
      'matchers, of all queries',
      [5_000, 5_001].map((count) => ({ ...all, matchers: labelled(count, String) })),
      'matchers: 10001, at most 10000',
    ],
    [
      'regular expressions',
      [{ ...all, matchers: labelled(101, (i) => `a+${i}`) }],
      'regular expressions: 101, at most 100',
    ],
    [
      'regular expressions that are slow to compile',
      [{ ...all, matchers: labelled(4, (i) => `a{900}${i}`) }],
      'cost of all regular expressions: 75604, at most 60000',
    ],
  ])('refuses too many %s with 400, and reads nothing', async (_, queries, reason) => {
    const select = jest.spyOn(store, 'select');
    try {
      for (const accepted of [0, 1]) {
        const response = await ask({ queries, accepted: [accepted] });
        const start = (await text(response)).slice(0, 100);
        expect([response.status, start]).toEqual([400, `read request is too large: ${reason}\n`]);
      }
      expect(select.mock.calls.length).toBe(0);
    } finally {
      select.mockRestore();
    }
  });

  test.each([0, 1])('refuses a value too long for its regular expression with 429 (type %i)', async (type) => {
    store.append(labelsFromObject({ __name__: 'm', path: 'ab'.repeat(100) }), start, 1);
    const matchers: Matcher[] = [{ type: '=~', name: 'path', value: '(a|b)*a(a|b){600}' }];
    const partition = { label: 'k8s_node_name', value: 'node-1' };
    const response = await ask({ queries: [{ ...all, matchers }], accepted: [type] }, { partition });
    const reason = 'label value of 200 characters for the regular expression "(a|b)*a(a|b){600}", at most 89';
    expect([response.status, await text(response)]).toEqual([429, `matcher on path: ${reason}\n`]);
  });

  test('a regular expression in every matcher of a request is compiled once', async () => {
    const compile = jest.spyOn(RE2JS, 'compile');
    try {
      const partition = { label: 'k8s_node_name', value: 'node-1' };
      const matchers = labelled(60, () => '(?:.{30}y){20}|');
      const queries = Array.from({ length: 100 }, () => ({ ...all, matchers }));
      await collect((await ask({ queries, accepted: [1] }, { partition })).body);
      expect(compile.mock.calls.length).toBe(1);
    } finally {
      compile.mockRestore();
    }
  });

  test('other work runs between the queries of a request that find nothing', async () => {
    let rounds = 0;
    const slow = {
      select: () => {
        const started = performance.now();
        while (performance.now() - started < 2);
        return [];
      },
    };
    const partition = { label: 'k8s_node_name', value: 'node-1' };
    const { headers, body } = buildStreamedRead(Array.from({ length: 100 }, () => all));
    let done = false;
    const count = (): void => {
      rounds++;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    await collect((await createRemoteReadHandler(slow, { partition })({ headers, body })).body);
    done = true;
    // The two passes take 400 ms, and a slice ten.
    expect(rounds).toBeGreaterThan(10);
  });

  test.each([
    ['streamed', responseType.streamedXorChunks, new Uint8Array(0)],
    ['sampled', responseType.samples, snappyCompress(encodeReadResponse([[]]))],
  ])('other work runs between series without a sample in the window: %s', async (_, accepted, empty) => {
    const labels = labelsFromObject({ __name__: 'm' });
    const chunks = encodePoints(
      [0, 15_000].map((t) => ({ t: start + t, low: 0, high: 0 })),
      120,
    );
    const slow = (): Chunk[] => {
      const started = performance.now();
      while (performance.now() - started < 0.01);
      return chunks;
    };
    const many = { select: () => Array.from({ length: 20_000 }, () => ({ labels, chunks: slow })) };
    const between = { startMs: start + 5_000, endMs: start + 5_000, matchers: [] };
    const body = snappyCompress(encodeReadRequest({ queries: [between], accepted: [accepted] }));
    let rounds = 0;
    let done = false;
    const count = (): void => {
      rounds++;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    const response = await createRemoteReadHandler(many)({ headers: {}, body });
    expect(await collect(response.body)).toEqual(Buffer.from(empty));
    done = true;
    // The series take 200 ms, and a slice ten.
    expect(rounds).toBeGreaterThan(10);
  });

  test('refuses bytes that are not snappy, not protobuf, or too large once decompressed', async () => {
    const handler = createRemoteReadHandler(store, { maxRequestBytes: 100 });
    const send = async (body: Uint8Array): Promise<[number, string]> => {
      const response = await handler({ headers: {}, body });
      return [response.status, await text(response)];
    };
    expect(await send(bytes('ff'))).toEqual([400, 'snappy: corrupt input\n']);
    expect(await send(snappyCompress(new Uint8Array(5)))).toEqual([400, 'protobuf: field number 0\n']);
    expect(await send(snappyCompress(new Uint8Array(200)))).toEqual([400, expect.stringMatching(/at most 100/)]);
  });

  test('a request whose caller has gone is not answered: the handler throws the reason', async () => {
    const gone = AbortSignal.abort(new Error('the client disconnected'));
    const body = snappyCompress(encodeReadRequest({ queries: [all], accepted: [0] }));
    const answer = createRemoteReadHandler(store)({ headers: {}, body, signal: gone });
    await expect(answer).rejects.toThrow('the client disconnected');
  });

  test('a store that fails gives 500 before the first byte, and a thrown error after it', async () => {
    const failing = {
      select: () => {
        throw new OperatorError('ERR_STORE_CORRUPT', 'disk');
      },
    };
    const body = snappyCompress(encodeReadRequest({ queries: [all], accepted: [0] }));
    const sampled = await createRemoteReadHandler(failing)({ headers: {}, body });
    expect([sampled.status, await text(sampled)]).toEqual([500, 'disk\n']);
    const { headers, body: streamBody } = buildStreamedRead([all]);
    const streamed = await createRemoteReadHandler(failing)({ headers, body: streamBody });
    expect(streamed.status).toBe(200);
    await expect(collect(streamed.body)).rejects.toThrow('disk');
  });
});

describe('the client', () => {
  const frame = bytes(golden.frame);

  test('reads frames however the stream is cut into parts', async () => {
    const stream = Buffer.concat([frame, frame, frame]);
    const [one] = await readAll(parts(frame));
    for (let size = 1; size <= stream.length; size++) {
      const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) =>
        stream.subarray(i * size, (i + 1) * size),
      );
      expect(await readAll(parts(...pieces))).toEqual([one, one, one]);
    }
  });

  test('refuses a stream that ends at any place inside a frame', async () => {
    expect(frame.length).toBeGreaterThan(20);
    for (let length = 1; length < frame.length; length++) {
      await expect(readAll(parts(frame, frame.subarray(0, length)))).rejects.toThrow(/ended inside a frame/);
    }
  });

  test('refuses any flipped bit', async () => {
    expect(frame.length).toBeGreaterThan(20);
    for (let bit = 0; bit < frame.length * 8; bit++) {
      const bad = frame.slice();
      bad[bit >> 3]! ^= 1 << (bit & 7);
      await expect(readAll(parts(bad))).rejects.toMatchObject({ code: 'ERR_INPUT_INVALID' });
    }
  });

  test('refuses an unknown chunk encoding and names its number', async () => {
    const chunk = { encoding: 4 as never, minT: 0, maxT: 0, count: 1, bytes: Uint8Array.of(0, 1, 0) };
    const frame = encodeSeriesFrame(encodeLabels(labelsFromObject({ __name__: 'm' })), [chunk], 0);
    await expect(readAll(parts(frame))).rejects.toThrow(/chunk encoding 4 is not supported/);
  });

  test.each<[string, (m: WireWriter) => void]>([
    ['series', (m) => times(200_001, () => m.bytes(1, empty))],
    ['labels', (m) => void m.message(1, (series) => times(200_000, () => series.bytes(1, empty)))],
    ['chunks', (m) => void m.message(1, (series) => times(200_000, () => series.message(2, (c) => c.uint(3, 1))))],
  ])('refuses a frame of more %s than any server sends, whatever they are', async (_, fill) => {
    const message = new WireWriter();
    fill(message);
    await expect(readAll(parts(encodeFrame(message.finish())))).rejects.toThrow(
      'remote read answer: more than 200000 series, labels and chunks',
    );
  });

  test('refuses a frame above the limit before reading it, and another content type', async () => {
    const huge = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0);
    await expect(readAll(parts(huge))).rejects.toThrow(/at most 52428800/);
    const html = readStreamedSeries('text/html', parts(frame));
    await expect(html.next()).rejects.toThrow(/content type "text\/html"/);
  });
});

describe('snappy', () => {
  test('compressed data are restored, and damaged data give an error or other bytes, never a hang', () => {
    const outcomes = new Set<string>();
    // Repeated bytes are written as references, others as literals.
    const data = fc
      .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 9 })), { maxLength: 8 })
      .map((pieces) => Buffer.concat(pieces.flatMap(([piece, times]) => Array<Uint8Array>(times).fill(piece))));
    fc.assert(
      fc.property(data, fc.nat(), fc.nat(255), (data, at, value) => {
        const packed = snappyCompress(data);
        expect(Buffer.from(snappyDecompress(packed, 3_000))).toEqual(data);
        const bad = packed.slice();
        bad[at % bad.length] = value;
        try {
          expect(snappyDecompress(bad, 3_000).length).toBeLessThanOrEqual(3_000);
          outcomes.add('other bytes');
        } catch (error) {
          if (!(error instanceof OperatorError)) throw error;
          outcomes.add('an error');
        }
      }),
    );
    expect(outcomes).toEqual(new Set(['an error', 'other bytes']));
  });

  test('a literal length with its top bit set is refused', () => {
    expect(() => snappyDecompress(Uint8Array.of(10, 0xfc, 0xff, 0xff, 0xff, 0xff, 1, 2), 1000)).toThrow(/corrupt/);
  });
});
