/** The newest spans of one workload, the failed and slow ones first. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { readStream, type StreamMessage } from '../../api/stream.ts';
import { Empty, Shown } from '../../parts/states.tsx';
import { newestSpans, type NewestSpansOf } from '../../state/newest-spans.ts';
import { addressOf } from '../../state/place.ts';
import { useAnswer } from '../../state/use-answer.ts';
import { Losses } from './losses.tsx';
import { Items, type ItemRow } from './item-rows.tsx';

export function NewestSpans(of: NewestSpansOf): JSX.Element {
  const { namespace, name, kind, window } = of;
  const [reading, setReading] = useState(false);
  const asked = useAnswer(
    `spans ${namespace} ${name} ${kind} ${window}`,
    (signal) => newestSpans(readStream, of, signal),
    // Rows do not move while the user reads one of them.
    { everyMs: reading ? 0 : 30_000 },
  );
  const live = addressOf('live', { ns: namespace, workload: `${kind}/${name}` });
  return (
    <section aria-label="Newest spans">
      <h2>Newest spans</h2>
      <p class="quiet">
        Failed and slow ones first. <a href={live}>All of them, live</a>
      </p>
      <Shown asked={asked} what="spans">
        {({ spans, losses }) => (
          <>
            <Losses losses={losses} />
            {spans.length === 0 ? (
              <Empty title={`No span of the last ${window} is held`}>
                Agents keep the newest spans in memory; a monitor can switch them off.{' '}
                <a href={live}>Wait for new ones</a>
              </Empty>
            ) : (
              <Items label="Newest spans" rows={rowsOf(spans)} onDetails={setReading} />
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

function rowsOf(spans: readonly StreamMessage[]): ItemRow[] {
  return spans.map((message) => ({
    id: `${message.span!.traceId} ${message.span!.spanId} ${message.span!.kind}`,
    message,
  }));
}
