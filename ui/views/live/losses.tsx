/** How many items of a stream were lost: a number for each node that lost some, and one for the relay. */
import type { JSX } from 'preact';
import { lossReason } from '../../../src/stream/item-text.ts';
import type { Loss } from '../../state/live-feed.ts';

export function Losses({ losses }: { losses: readonly Loss[] }): JSX.Element | null {
  if (losses.length === 0) return null;
  const total = losses.reduce((sum, { count }) => sum + count, 0);
  return (
    <details class="losses">
      <summary>▲ {total.toLocaleString('en')} lost</summary>
      <ul>
        {losses.map(({ node, source, count }) => (
          <li key={`${source} ${node}`}>
            <b>{count.toLocaleString('en')}</b> {source === 'relay' ? 'of all nodes' : `of ${node}`}:{' '}
            {lossReason(source)}
          </li>
        ))}
      </ul>
    </details>
  );
}
