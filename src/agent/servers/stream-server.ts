import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { rfc3339Nano } from '../spans/span-record.ts';
import { parseStreamQuery, type StreamQuery } from '../spans/span-filter.ts';
import { readStream } from '../spans/stream-reader.ts';
import type { StreamRing } from '../spans/stream-ring.ts';
import { answerError, answerMethod } from './answers.ts';

export interface StreamOptions {
  readonly node: string;
  readonly ring: StreamRing;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of readers that come and go, and of items that a reader was too slow for. */
  readonly onClients: (change: 1 | -1) => void;
  readonly onLost: (count: number) => void;
  readonly signal: AbortSignal;
}

/**
 * `GET /v1/spans` as NDJSON: one of `span`, `lost` or `node_status` a line, each with `node` and `time`.
 * A reader that does not keep up loses items and is told how many; the ring's writer never waits for it.
 */
export function streamHandler(options: StreamOptions): RequestListener {
  return (req, res) => {
    const url = new URL(req.url ?? '/', 'http://agent');
    if (url.pathname !== '/v1/spans') return answerError(res, 404, 'not_found', 'no such path');
    if (req.method !== 'GET') return answerMethod(res, 'GET');
    let query: StreamQuery;
    try {
      query = parseStreamQuery(url.searchParams, options.clock.now());
    } catch (error) {
      if (isOperatorError(error)) return answerError(res, 400, 'bad_request', error.message);
      throw error;
    }
    options.onClients(1);
    serve(res, query, options)
      .catch((error: unknown) => {
        options.logger.warn('span stream broke off', { error: errorText(error) });
        res.destroy();
      })
      .finally(() => options.onClients(-1));
  };
}

async function serve(res: ServerResponse, query: StreamQuery, options: StreamOptions): Promise<void> {
  const { node, ring, clock } = options;
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, options.signal]);
  res.writeHead(200, { 'content-type': 'application/x-ndjson' });
  const write = async (time: string, content: object): Promise<void> => {
    const full = !res.write(`${JSON.stringify({ node, time, ...content })}\n`);
    if (full && !signal.aborted) await once(res, 'drain', { signal }).catch(() => {});
  };
  const nowText = (): string => rfc3339Nano(BigInt(clock.now()) * 1_000_000n);
  if (query.follow) await write(nowText(), { node_status: { state: 'NODE_CONNECTED', nodes: [node] } });
  for await (const event of readStream(ring, query, signal)) {
    if (signal.aborted) break;
    if ('item' in event) await write(event.item.span.start, { span: event.item.span });
    else {
      options.onLost(event.lost);
      await write(nowText(), { lost: { source: 'ring', count: event.lost } });
    }
  }
  res.end();
}
