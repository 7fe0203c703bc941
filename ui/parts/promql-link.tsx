/** A query with a link that runs it immediately: the user has read the query, so no second click is needed. */
import type { JSX } from 'preact';
import { addressOf } from '../state/place.ts';
import { queryParams } from '../state/panels.ts';
import { markRan } from '../state/ran-here.ts';

export function PromqlLink({ title, expr }: { title: string; expr: string }): JSX.Element {
  return (
    <div class="promql">
      <a href={addressOf('graph', queryParams(expr, 3600))} onClick={() => markRan(expr)}>
        {title}
      </a>
      <code>{expr}</code>
    </div>
  );
}
