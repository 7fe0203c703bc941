import { OperatorError } from '../../base/errors.ts';
import { maxFrameBytes, readFrames } from '../../base/wire/frames.ts';
import { assertLabels } from '../labels.ts';
import { decodeChunkedSeries } from './chunked-series.ts';
import type { ChunkedSeries } from './chunked-series.ts';
import { encodeReadRequest, responseType } from './read-request.ts';
import type { ReadQuery } from './read-request.ts';
import { snappyCompress } from './snappy.ts';

export const streamedContentType = 'application/x-streamed-protobuf';

/** Headers and body of a request for a streamed answer. */
export function buildStreamedRead(queries: readonly ReadQuery[]): {
  headers: Record<string, string>;
  body: Uint8Array;
} {
  return {
    headers: {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'snappy',
      accept: streamedContentType,
      'x-prometheus-remote-read-version': '0.1.0',
    },
    body: snappyCompress(encodeReadRequest({ queries, accepted: [responseType.streamedXorChunks] })),
  };
}

/**
 * Reads a streamed answer series by series, as the frames arrive.
 * Guarantees: every frame's checksum, every chunk's encoding and the shape of the labels are validated before a series
 * is returned. Chunk bytes are views: use them before requesting the next series.
 * Assumptions: `source` throws when the connection is cut (Node does that for a chunked body that does not end).
 * Errors: ERR_INPUT_INVALID, and the errors of the source; the series returned before must then be discarded.
 */
export async function* readStreamedSeries(
  contentType: string | undefined,
  source: AsyncIterable<Uint8Array>,
  limitBytes = maxFrameBytes,
): AsyncGenerator<ChunkedSeries> {
  if (!contentType?.startsWith(streamedContentType)) {
    throw new OperatorError(
      'ERR_INPUT_INVALID',
      `remote read answer has content type ${JSON.stringify(contentType ?? '')}`,
    );
  }
  for await (const message of readFrames(source, 'remote read', limitBytes)) {
    for (const series of decodeChunkedSeries(message)) {
      assertLabels(series.labels);
      yield series;
    }
  }
}
