/** The newest spans of one workload that agents still hold, the failed and slow ones first. */
import { SeenItems } from '../../src/stream/seen-items.ts';
import type { Answer } from '../api/client.ts';
import type { ReadStreamOptions, SpanRecord, StreamAsk, StreamFilter, StreamMessage } from '../api/stream.ts';
import { LiveFeed, type Loss } from './live-feed.ts';

export interface NewestSpansOf {
  readonly namespace: string;
  readonly name: string;
  readonly kind: string;
  /** How far back spans are read. */
  readonly window: string;
  /** The duration from which a span is slow. If unknown, slow spans are not searched beyond the newest. Unit: ms. */
  readonly slowMs: number | null | undefined;
}

/** How many of the newest spans are read, how many failed and slow ones in addition, and how many are shown. */
const newest = 200;
const troubled = 50;
export const mostSpans = 20;

export interface NewestSpans {
  /** Each with the node that captured it. */
  readonly spans: readonly StreamMessage[];
  readonly losses: readonly Loss[];
}

/** Reads the spans and the losses. Missing nodes are reported as in other answers. */
export async function newestSpans(
  read: (ask: StreamAsk, options: ReadStreamOptions) => AsyncIterable<readonly StreamMessage[]>,
  { namespace, name, kind, window, slowMs }: NewestSpansOf,
  signal: AbortSignal,
): Promise<Answer<NewestSpans>> {
  const own: StreamFilter = { namespace: [namespace], workload: [`${kind}/${name}`] };
  const slow = slowMs ? [{ ...own, minDuration: [`${Math.max(1, Math.ceil(slowMs))}ms`] }] : [];
  const asks: readonly StreamAsk[] = [
    { number: newest, include: [own] },
    { number: troubled, include: [{ ...own, status: ['error', '5+'] }, ...slow] },
  ];
  const seen = new SeenItems();
  const spans: StreamMessage[] = [];
  const feeds = await Promise.all(
    asks.map(async (ask) => {
      const feed = new LiveFeed();
      for await (const messages of read({ ...ask, types: ['span'], since: window }, { signal })) {
        for (const message of messages) {
          if (!message.span) feed.add(message);
          else if (seen.add(message)) spans.push(message);
        }
      }
      return feed;
    }),
  );
  const missingNodes = [...new Set(feeds.flatMap(({ absent }) => absent.map(({ node }) => node)))].sort();
  return {
    data: { spans: worstFirst(spans).slice(0, mostSpans), losses: most(feeds.flatMap(({ losses }) => losses)) },
    ...{ warnings: [], infos: [], degraded: missingNodes.length > 0, missingNodes },
  };
}

/** Both requests read the same spans, so the larger of the two losses is reported. */
function most(losses: readonly Loss[]): Loss[] {
  const byKey = Map.groupBy(losses, ({ node, source }) => `${source} ${node}`);
  return [...byKey.values()].map((same) => same.reduce((a, b) => (b.count > a.count ? b : a)));
}

/** Failed spans first, then the slower before the faster, then the newer before the older. */
export function worstFirst(spans: readonly StreamMessage[]): StreamMessage[] {
  const failed = ({ status, statusCode = 0 }: SpanRecord): number => (status === 'error' || statusCode >= 500 ? 1 : 0);
  return spans.toSorted(
    ({ span: a }, { span: b }) =>
      failed(b!) - failed(a!) || b!.durationNs - a!.durationNs || (a!.start < b!.start ? 1 : -1),
  );
}
