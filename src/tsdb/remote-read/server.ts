import { errorText, isOperatorError, OperatorError } from '../../base/errors.ts';
import { recutChunk } from '../chunk/index.ts';
import { compileSets, type Matcher } from '../matcher.ts';
import type { SelectedSeries, Store, Chunk } from '../types.ts';
import { encodedChunkBytes } from './chunked-series.ts';
import { FrameParts } from './frame-parts.ts';
import { fairPlaces, Gate } from '../../base/turns/gate.ts';
import { Pace, turns, type Pacing } from '../../base/turns/turns.ts';
import { lendLabels } from './label-bytes.ts';
import { decodeReadRequest, maxReadRequestBytes, negotiateResponse, responseType } from './read-request.ts';
import type { ReadQuery, ReadRequest } from './read-request.ts';
import { encodeReadResponse, encodeTimeSeries } from './sampled-series.ts';
import { snappyCompressInTurns, snappyDecompress } from './snappy.ts';

/** The path that stock clients call. */
export const remoteReadPath = '/api/v1/read';

/** Header that states whether every series of an answer carries the node's own label. */
export const partitionHeader = 'x-svc-partition-clean';

/** The limits of one request. */
export interface RemoteReadLimits {
  /** Largest request after decompression. Default 2 MiB. The HTTP server must cap the body itself, too. */
  readonly maxRequestBytes?: number;
  /** Most samples of a SAMPLES answer, which is held in memory as a whole. Default 10 million. */
  readonly maxSamples?: number;
  /** A frame of a streamed answer is closed at about this size. Default 1 MiB. */
  readonly maxFrameBytes?: number;
  /**
   * For callers that write each part of a streamed answer out before they request the next: the parts share memory, and
   * each overwrites the part before. Default false.
   */
  readonly reusesParts?: boolean;
  /** Most concurrent requests; others wait. Default 10. */
  readonly concurrency?: number;
  /**
   * The label whose value must be `value` on every series. A streamed answer then states in `x-svc-partition-clean`
   * whether this is so.
   */
  readonly partition?: { readonly label: string; readonly value: string };
}

/** The parts of an HTTP request that the handler needs. Header names in lower case, as Node gives them. */
export interface RemoteReadHttpRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The request as it was sent, or what it was decoded to. */
  readonly body: Uint8Array | ReadRequest;
  readonly signal?: AbortSignal;
  /** The key for fair queueing among concurrent requests. Default: one key for all. */
  readonly user?: string;
}

/**
 * An answer for any HTTP framework. Write the parts of `body` with back-pressure (with `reusesParts`, a part must be
 * written out before the next one is requested). When the iteration throws after the first part, cut the connection: a
 * normal end would make a partial answer look complete.
 */
export interface RemoteReadHttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Most samples of a SAMPLES answer. */
const defaultReadSamples = 10_000_000;

/** Answers one remote-read request, independent of any HTTP framework. */
export type RemoteReadHandler = (request: RemoteReadHttpRequest) => Promise<RemoteReadHttpResponse>;

/**
 * Chunks are cut to the window of the query when the window is at most this long: in a longer one, the samples outside
 * of it in the first and the last chunk are negligible.
 */
const recutWindowMs = 2 * 3_600_000;

/**
 * Serves Prometheus' remote read v1 (`POST /api/v1/read`) from a store: SAMPLES and STREAMED_XOR_CHUNKS.
 * Flow: decompress, decode and compile → negotiate → wait for one of the `concurrency` places → select → encode.
 * Errors: plain text; 400 for a request that cannot be read or negotiated and for too many samples, 429 for a
 * selector beyond a limit of the store, 500 for its other errors. Once the request's signal has aborted, the handler
 * rejects instead.
 */
export function createRemoteReadHandler(store: ReadStore, limits: RemoteReadLimits = {}): RemoteReadHandler {
  const gate = new Gate(limits.concurrency ?? 10, fairPlaces);
  return async (request) => {
    try {
      const decoded = decodeRequest(request, limits.maxRequestBytes ?? maxReadRequestBytes);
      if (negotiateResponse(decoded.accepted) === responseType.streamedXorChunks) {
        const headers = {
          'content-type': 'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse',
          ...(limits.partition
            ? { [partitionHeader]: String(await isClean(store, decoded, limits.partition, request.signal)) }
            : {}),
        };
        const body = streamed(store, decoded, limits, gate, request);
        return { status: 200, headers, body };
      }
      const leave = await gate.enter(request.signal, request.user);
      try {
        const pace = new Pace(request.signal);
        const body = await sampledResponse(store, decoded, limits.maxSamples ?? defaultReadSamples, pace);
        const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' };
        return { status: 200, headers: { ...headers, 'content-length': String(body.length) }, body: once(body) };
      } finally {
        leave();
      }
    } catch (error) {
      if (request.signal?.aborted) throw error;
      if (isOperatorError(error, 'ERR_SELECTION_LIMIT')) return plainText(429, error.message);
      const refused = (['ERR_INPUT_INVALID', 'ERR_TOO_LARGE', 'ERR_QUERY_LIMIT'] as const).some((code) =>
        isOperatorError(error, code),
      );
      return plainText(refused ? 400 : 500, errorText(error));
    }
  };
}

/** The methods of a store, or of an object in its place, that remote read needs. */
export type ReadStore = Pick<Store, 'select'> & Partial<Pick<Store, 'prepare'>>;

/** Encoding one series costs as much as reading this many samples. */
const seriesWork = 200;
/** A search costs as much as this many samples, even if it finds nothing. */
const searchWork = 20_000;

/** False when a matching series has another value of the label, or lacks it. */
async function isClean(
  store: ReadStore,
  { queries }: ReadRequest,
  { label: name, value }: { readonly label: string; readonly value: string },
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const foreign = { type: '!=', name, value } as const;
  const pace = new Pace(signal);
  for (const query of queries) {
    const prepared = await preparedFor(store, query, pace);
    for (const _ of store.select([...prepared, foreign], query.startMs, query.endMs)) return false;
    if (pace.spend(searchWork)) await pace.turn();
  }
  return true;
}

async function preparedFor(
  store: ReadStore,
  { matchers, startMs, endMs }: ReadQuery,
  pace: Pacing,
): Promise<readonly Matcher[]> {
  return (await store.prepare?.(matchers, startMs, endMs, pace)) ?? matchers;
}

function decodeRequest({ headers, body }: RemoteReadHttpRequest, maxBytes: number): ReadRequest {
  const encoding = headers['content-encoding'] ?? 'snappy';
  if (encoding !== 'snappy') {
    throw new OperatorError(
      'ERR_INPUT_INVALID',
      `unsupported Content-Encoding ${JSON.stringify(encoding)}, want "snappy"`,
    );
  }
  return compiled(body instanceof Uint8Array ? decodeReadRequest(snappyDecompress(body, maxBytes)) : body);
}

/** The request with its matchers compiled; queries with equal matchers share them. */
function compiled({ queries, accepted }: ReadRequest): ReadRequest {
  const sets = compileSets(queries.map(({ matchers }) => matchers));
  return { queries: queries.map((query, i) => ({ ...query, matchers: sets[i]! })), accepted };
}

async function sampledResponse(
  store: ReadStore,
  { queries }: ReadRequest,
  maxSamples: number,
  pace: Pacing,
): Promise<Uint8Array> {
  let left = maxSamples;
  const results: Uint8Array[][] = [];
  for (const query of queries) {
    const encoded: Uint8Array[] = [];
    results.push(encoded);
    const matchers = await preparedFor(store, query, pace);
    for (const found of store.select(matchers, query.startMs, query.endMs)) {
      const chunks = found.chunks();
      const series = encodeTimeSeries(found.labels, chunks, query.startMs, query.endMs);
      left -= series?.samples ?? 0;
      if (left < 0) throw new OperatorError('ERR_QUERY_LIMIT', `exceeded sample limit (${maxSamples})`);
      if (series) encoded.push(series.bytes);
      if (pace.spend(seriesWork + samplesIn(chunks) + 3 * (series?.samples ?? 0))) await pace.turn();
    }
    if (pace.spend(searchWork)) await pace.turn();
  }
  return snappyCompressInTurns(encodeReadResponse(results), pace);
}

async function* streamed(
  store: ReadStore,
  { queries }: ReadRequest,
  { maxFrameBytes = 1024 * 1024, reusesParts = false }: RemoteReadLimits,
  gate: Gate,
  { signal, user = '' }: Pick<RemoteReadHttpRequest, 'signal' | 'user'>,
): AsyncGenerator<Uint8Array> {
  const leave = await gate.enter(signal, user);
  const own = turns.begin(user, signal);
  try {
    const parts = new FrameParts(reusesParts);
    const pace = new Pace(signal, own);
    for (const [index, query] of queries.entries()) {
      const matchers = await preparedFor(store, query, pace);
      for (const series of store.select(matchers, query.startMs, query.endMs)) {
        const work = addSeries(parts, series, query, index, maxFrameBytes);
        if (parts.isFull) {
          yield parts.take();
          await own.next();
          signal?.throwIfAborted();
        } else if (pace.spend(work)) await pace.turn();
      }
      if (pace.spend(searchWork)) await pace.turn();
    }
    if (!parts.isEmpty) yield parts.take();
  } finally {
    own.end();
    leave();
  }
}

/**
 * Adds one series: as one frame, or as several frames with the same labels when its chunks exceed the frame size; none
 * for a series without samples in the window. Returns the work, in samples.
 */
function addSeries(
  parts: FrameParts,
  series: SelectedSeries,
  query: ReadQuery,
  index: number,
  maxFrameBytes: number,
): number {
  const found = series.lentChunks?.() ?? series.chunks();
  const work = seriesWork + samplesIn(found);
  const chunks = windowed(found, query);
  if (chunks.length === 0) return work;
  const labels = lendLabels(series.labels);
  let frame: Chunk[] = [];
  let size = labels.length;
  for (const chunk of chunks) {
    if (frame.length > 0 && size + encodedChunkBytes(chunk) > maxFrameBytes) {
      parts.add(labels, frame, index);
      frame = [];
      size = labels.length;
    }
    frame.push(chunk);
    size += encodedChunkBytes(chunk);
  }
  parts.add(labels, frame, index);
  return work;
}

function samplesIn(chunks: readonly Chunk[]): number {
  return chunks.reduce((sum, { count }) => sum + count, 0);
}

/** Cuts chunks to a short window; keeps one sample when the client only asks for the list of series. */
function windowed(chunks: readonly Chunk[], query: ReadQuery): readonly Chunk[] {
  const { startMs, endMs, hints } = query;
  if (hints?.func !== 'series' && endMs - startMs > recutWindowMs) return chunks;
  const cut: Chunk[] = [];
  for (const chunk of chunks) {
    const part = recutChunk(chunk, startMs, endMs);
    if (!part) continue;
    if (hints?.func === 'series') return [recutChunk(part, part.minT, part.minT)!];
    cut.push(part);
  }
  return cut;
}

function plainText(status: number, text: string): RemoteReadHttpResponse {
  const body = new TextEncoder().encode(`${text}\n`);
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'content-length': String(body.length) };
  return { status, headers, body: once(body) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
