/** The live stream of spans and flows of all nodes. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Empty, Failed, Loading, Note } from '../parts/states.tsx';
import { filterOf, followOf, liveParams, leavesFlowsOut } from '../state/live-filter.ts';
import { mostRows, type LiveFeed } from '../state/live-feed.ts';
import type { LivePhase } from '../state/live-follow.ts';
import type { Place } from '../state/place.ts';
import { useLive } from '../state/use-live.ts';
import { Losses } from './live/losses.tsx';
import { LiveFilters } from './live/filters.tsx';
import { Items } from './live/item-rows.tsx';

/** The number of past items that the view starts with. */
const firstItems = 200;

export function LiveView({ place: { params } }: { place: Place }): JSX.Element {
  const wanted = liveParams.map((name) => params.get(name) ?? '').join('\n');
  const filter = useMemo(() => filterOf(params), [wanted]);
  const { feed, phase, pause, resume, again } = useLive(followOf(filter, firstItems));
  const { rows, paused } = feed;
  // Re-created only when the filter changes, so that typing in a field is never interrupted.
  const filters = useMemo(() => <LiveFilters filter={filter} />, [filter]);
  return (
    <>
      {filters}
      {leavesFlowsOut(filter) ? (
        <p class="quiet">Flows have no status, path, duration or trace: this filter shows spans only.</p>
      ) : null}
      <div class="row wrap tools">
        <button
          type="button"
          class={paused ? 'pause primary' : 'pause'}
          aria-pressed={paused}
          onClick={paused ? resume : pause}
        >
          {paused ? 'Resume' : 'Pause'}
        </button>
        <span class="status counts">{countsOf(feed, phase)}</span>
        <Losses losses={feed.losses} />
      </div>
      <Broken phase={phase} again={again} />
      <Absent feed={feed} />
      {rows.length > 0 ? (
        <Items
          label="Spans and flows"
          rows={rows}
          onReading={() => {
            if (!feed.paused) pause();
          }}
        />
      ) : (
        <Nothing feed={feed} phase={phase} />
      )}
    </>
  );
}

function countsOf(feed: LiveFeed, phase: LivePhase): string {
  const { received, held, droppedHeld, paused, rows, connected } = feed;
  const count = (n: number): string => n.toLocaleString('en');
  const state = { connecting: 'connecting', open: 'live', waiting: 'disconnected', failed: 'ended' }[phase.kind];
  const dropped = droppedHeld > 0 ? `, ${count(droppedHeld)} older ones dropped here` : '';
  return [
    paused ? `paused: ${count(held)} held back${dropped}` : state,
    `${connected === 1 ? '1 node' : `${connected} nodes`}`,
    `${count(received)} received`,
    rows.length < mostRows ? `${count(rows.length)} shown` : `the newest ${count(mostRows)} shown`,
  ].join(' · ');
}

function Broken({ phase, again }: { phase: LivePhase; again: () => void }): JSX.Element | null {
  if (phase.kind === 'failed') return <Failed failure={phase.failure} again={again} />;
  if (phase.kind !== 'waiting') return null;
  const why = phase.failure?.message ?? 'The query server ended the stream.';
  return <Note kind="warn" title={`${why} Reconnecting; missed items are shown afterwards.`} />;
}

/** Names the nodes that send nothing, and why. */
function Absent({ feed: { absent } }: { feed: LiveFeed }): JSX.Element | null {
  if (absent.length === 0) return null;
  const names = absent.map(({ node }) => node);
  const some = names.slice(0, 8).join(', ') + (names.length > 8 ? ` and ${names.length - 8} more` : '');
  return (
    <Note kind="warn" title={`Degraded: nothing comes from ${some}.`}>
      <ul class="troubles">
        {absent.slice(0, 20).map(({ node, message }) => (
          <li key={node}>
            <b>{node}</b>: {message}
          </li>
        ))}
      </ul>
      <a href="nodes">Nodes</a>
    </Note>
  );
}

function Nothing({ feed, phase }: { feed: LiveFeed; phase: LivePhase }): JSX.Element | null {
  if (phase.kind === 'failed') return null;
  if (feed.held > 0) return <Empty title={`${feed.held} items are held back`}>Resume shows them.</Empty>;
  if (phase.kind !== 'open') return <Loading what="spans and flows" />;
  return (
    <Empty title="Nothing yet">
      Matches appear as they arrive. Agents keep the newest spans in memory; whether they get any is shown under{' '}
      <a href="nodes">Nodes</a>.
    </Empty>
  );
}
