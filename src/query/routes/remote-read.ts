import { isOperatorError, errorText } from '../../base/errors.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { writePart } from '../../net/http/index.ts';
import { TextLimits } from '../../promql/index.ts';
import {
  compileMatchers,
  createRemoteReadHandler,
  decodeReadRequest,
  encodePoints,
  negotiateResponse,
  responseType,
  samplesPerChunk,
  snappyDecompress,
} from '../../tsdb/index.ts';
import type { Chunk, Point, ReadQuery, SelectedSeries } from '../../tsdb/index.ts';
import type { ReadSeries } from '../fanout/merge/series-collector.ts';
import { ApiError } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Handler, HandlerDeps } from '../api/call.ts';
import { clusterQueries, ofCluster, withCluster } from '../run/cluster-label.ts';
import type { RunRequest } from '../run/runner-options.ts';
import { lostNodesHeader } from '../api/lost-nodes-header.ts';
import { toNativeHistogram } from '../json/native-histogram.ts';
import { sendText } from '../api/respond.ts';

/** The largest request. A request has a few matchers and times, however much data it asks for. */
const maxBodyBytes = 2 * 1024 * 1024;
/** Upper bounds of the parts of a SAMPLES answer as protobuf. */
const labelOverheadBytes = 10;
const sampleMessageBytes = 20;
const histogramMessageBytes = 120;
const bucketMessageBytes = 16;
const copiesOfAnswer = 5;

/**
 * `/api/v1/read`: Prometheus' remote read over all agents, as SAMPLES or STREAMED_XOR_CHUNKS. The protocol has no field
 * for a missing node, so a header names the missing nodes. With `partial_response=false` in the URL, a missing node is
 * an error (503), which Prometheus shows as a warning. Errors are plain text, as the protocol requires.
 */
export const remoteRead: Handler = async (call, deps) => {
  const { req, res, signal } = call;
  let leave: (() => void) | undefined;
  try {
    const { queries, accepted } = decodeReadRequest(
      snappyDecompress(await call.body.read(req, maxBodyBytes), maxBodyBytes),
    );
    // The request no longer needs its body, and may wait for long.
    call.body.release();
    refuseLarge(queries);
    for (const { matchers } of queries) compileMatchers(matchers);
    const request = runRequest(call);
    leave = await enter(request, deps);
    const { clusterName } = deps.settings;
    const answer = await deps.runner.select(
      clusterQueries(queries, clusterName),
      request,
      negotiateResponse(accepted) === responseType.samples ? sampledBytes : undefined,
    );
    const results = answer.result.map((series, i) => ofCluster(series, queries[i]!, clusterName));
    lostNodesHeader(res, answer.missingNodes);
    const handler = createRemoteReadHandler(inOrder(results, clusterName));
    // The series have been selected: their matchers need not be compiled again.
    const selected = queries.map((query) => ({ ...query, matchers: [] }));
    const response = await handler({ headers: req.headers, body: { queries: selected, accepted }, signal });
    res.statusCode = response.status;
    for (const [name, value] of Object.entries(response.headers)) res.setHeader(name, value);
    for await (const part of response.body) {
      if (signal.aborted) return;
      await writePart(res, part, signal);
    }
    res.end();
  } catch (error) {
    if (res.headersSent) res.destroy();
    else if (isOperatorError(error)) sendText(res, 400, `${errorText(error)}\n`);
    else if (error instanceof ApiError) sendText(res, error.status, `${error.message}\n`);
    else throw error;
  } finally {
    leave?.();
  }
};

/**
 * Takes a place among the remote reads. The wait has the time limit of a query.
 * Errors: ApiError timeout; the signal's reason.
 */
async function enter(request: RunRequest, { clock, runner, reads }: HandlerDeps): Promise<() => void> {
  const limitMs = Math.min(request.timeoutMs ?? Infinity, runner.heldTo(request).timeoutMs);
  const late = (): Error => new ApiError('timeout', 'remote read timed out while it waited for others');
  const limit = new TimeLimit(clock, limitMs, request.signal, late);
  try {
    return await reads.enter(limit.signal, request.caller);
  } finally {
    limit.release();
  }
}

/** Holds a read to the limits of a query. Errors: ApiError bad_data. */
function refuseLarge(queries: readonly ReadQuery[]): void {
  const limits = new TextLimits();
  const allow = (reason: string | null): void => {
    if (reason !== null) throw new ApiError('bad_data', reason);
  };
  for (const { matchers, hints } of queries) {
    allow(limits.selector());
    allow(limits.text(hints?.func ?? ''));
    // Each name counts one more, so that names without characters count, too.
    for (const label of hints?.grouping ?? []) allow(limits.text(`${label},`));
    for (const { type, name, value } of matchers) {
      allow(limits.matcher() ?? limits.text(name + value));
      if (type === '=~' || type === '!~') allow(limits.pattern(value));
    }
  }
}

/**
 * Memory of a SAMPLES answer, which is in memory several times: as series, as the message of each query, as the whole
 * answer (whose buffer grows by doubling), and compressed.
 */
function sampledBytes(results: readonly (readonly ReadSeries[])[]): number {
  let bytes = 0;
  for (const { labels, timestamps, histograms } of results.flat()) {
    for (const [name, value] of labels) bytes += name.length + value.length + labelOverheadBytes;
    bytes += timestamps.length * sampleMessageBytes;
    for (const histogram of histograms ?? []) {
      if (histogram === null) continue;
      const buckets = histogram.positive.counts.length + histogram.negative.counts.length;
      bytes += histogramMessageBytes + buckets * bucketMessageBytes;
    }
  }
  return bytes * copiesOfAnswer;
}

/** The series that were read, in the form of a store: the n-th call of `select` returns those of the n-th query. */
function inOrder(
  results: readonly (readonly ReadSeries[])[],
  cluster: string,
): { select: (matchers: ReadQuery['matchers'], mint: number, maxt: number) => SelectedSeries[] } {
  let next = 0;
  return {
    select: (_matchers, mint, maxt) =>
      (results[next++] ?? []).map((series) => ({
        labels: withCluster(series.labels, cluster),
        chunks: () => chunksOf(series, mint, maxt),
      })),
  };
}

function chunksOf({ timestamps, values, histograms }: ReadSeries, mint: number, maxt: number): Chunk[] {
  // Values travel as bits: a stale marker must keep its bit pattern.
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const points: Point[] = [];
  for (let i = 0; i < timestamps.length; i++) {
    const t = timestamps[i]!;
    if (t < mint || t > maxt) continue;
    const histogram = histograms?.[i];
    const bits = { t, low: words[2 * i]!, high: words[2 * i + 1]! };
    points.push(histogram ? { ...bits, histogram: toNativeHistogram(histogram) } : bits);
  }
  return encodePoints(points, samplesPerChunk);
}
