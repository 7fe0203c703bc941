/** The newest spans of one workload that agents still hold, the failed and slow ones first. */
import { SeenItems } from '../../src/stream/seen-items.ts';
import type { Answer } from '../api/client.ts';
import type { ReadStreamOptions, SpanRecord, StreamAsk, StreamFilter, StreamMessage } from '../api/stream.ts';
import { LiveFeed } from './live-feed.ts';

export interface NewestSpansOf {
  readonly namespace: string;
  readonly name: string;
  readonly kind: string;
  /** How far back. */
  readonly window: string;
  /** From where on a span is slow; not known: only the newest are looked through for slow ones. Unit: ms. */
  readonly slowMs: number | null | undefined;
}

/** How many of the newest are looked through, how many failed and slow ones beyond them, and how many are shown. */
const newest = 200;
const troubled = 50;
export const mostSpans = 20;

/** Spans with the node that saw each. Nodes that did not answer, and what was lost, are told as of other answers. */
export async function newestSpans(
  read: (ask: StreamAsk, options: ReadStreamOptions) => AsyncIterable<readonly StreamMessage[]>,
  { namespace, name, kind, window, slowMs }: NewestSpansOf,
  signal: AbortSignal,
): Promise<Answer<StreamMessage[]>> {
  const own: StreamFilter = { namespace: [namespace], workload: [kind === '' ? name : `${kind}/${name}`] };
  const slow = slowMs ? [{ ...own, minDuration: [`${Math.max(1, Math.ceil(slowMs))}ms`] }] : [];
  const asks: readonly StreamAsk[] = [
    { number: newest, include: [own] },
    { number: troubled, include: [{ ...own, status: ['error', '5+'] }, ...slow] },
  ];
  const feed = new LiveFeed();
  const seen = new SeenItems(0);
  const spans: StreamMessage[] = [];
  await Promise.all(
    asks.map(async (ask) => {
      for await (const messages of read({ ...ask, types: ['span'], since: window }, { signal })) {
        for (const message of messages) {
          if (!message.span) feed.add(message);
          else if (seen.add(message)) spans.push(message);
        }
      }
    }),
  );
  const missingNodes = feed.absent.map(({ node }) => node);
  return {
    data: worstFirst(spans).slice(0, mostSpans),
    ...{ warnings: [], infos: [], degraded: missingNodes.length > 0, missingNodes },
  };
}

/** Failed before others, of the same the slow before the fast. */
export function worstFirst(spans: readonly StreamMessage[]): StreamMessage[] {
  const failed = ({ status, statusCode = 0 }: SpanRecord): number => (status === 'error' || statusCode >= 500 ? 1 : 0);
  return spans.toSorted(
    ({ span: a }, { span: b }) =>
      failed(b!) - failed(a!) || b!.durationNs - a!.durationNs || (a!.start < b!.start ? 1 : -1),
  );
}
