/** A live map of which workload calls which. Nodes keep their places while numbers change. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { topology, type Topology } from '../api/page.ts';
import { ErrorShare } from '../parts/error-share.tsx';
import { bytesPerSecond, duration, perSecond } from '../parts/format.ts';
import { orderOf, orderText } from '../parts/sort.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { WindowChoice } from '../parts/window.tsx';
import type { Place } from '../state/place.ts';
import { setParams } from '../state/router.ts';
import { onThemeChange } from '../state/theme.ts';
import { useAnswer } from '../state/use-answer.ts';
import { linkedWindow, windowOf } from '../state/window.ts';
import { Chosen } from './map/chosen.tsx';
import { drawMap, type Drawing } from './map/draw.ts';
import { foldTopology, nodesWithoutEdge, titleOf, type MapEdge, type MapGraph } from './map/fold.ts';

export function MapView({ place }: { place: Place }): JSX.Element {
  const { params } = place;
  const window = windowOf(params);
  const asked = useAnswer(`map ${window}`, (signal) => topology({ by: 'workload', window }, { signal }), {
    everyMs: 10_000,
  });
  return (
    <>
      <div class="tools">
        <WindowChoice params={params} />
      </div>
      <Shown asked={asked} what="the map">
        {(data) =>
          data.nodes.length === 0 ? (
            <Empty title="No traffic in this time">
              Requests and flows show here within a minute. Try a longer window, or see whether{' '}
              <a href="nodes">each node</a> has an agent.
            </Empty>
          ) : (
            <MapOf topology={data} params={params} />
          )
        }
      </Shown>
    </>
  );
}

function MapOf({ topology: data, params }: { topology: Topology; params: URLSearchParams }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing>(undefined);
  const folded = params.get('fold') ?? '';
  const chosen = params.get('chosen') ?? '';
  const graph = useMemo(() => foldTopology(data, new Set(folded.split(',').filter(Boolean))), [data, folded]);
  const spaces = [...new Set(data.nodes.map(({ namespace }) => namespace).filter(Boolean))].sort();
  const [isChosenHere, setChosenHere] = useState(false);
  const choose = (id: string): void => {
    setChosenHere(true);
    setParams({ chosen: id });
  };
  const isFolded = new Set(folded.split(',').filter(Boolean));
  useEffect(() => {
    const made = drawMap(host.current!, choose);
    drawing.current = made;
    const end = onThemeChange(() => made.recolour());
    return () => {
      end();
      made.destroy();
    };
  }, []);
  useEffect(() => drawing.current?.show(graph), [graph]);
  useEffect(() => drawing.current?.select(chosen), [chosen, graph]);

  return (
    <>
      <div class="row wrap tools">
        <button type="button" onClick={() => drawing.current?.fit()}>
          Fit
        </button>
        <details class="fold">
          <summary>Fold namespaces ({isFolded.size})</summary>
          <div class="row wrap">
            <button type="button" class="plain" onClick={() => setParams({ fold: spaces.join(',') })}>
              all
            </button>
            <button type="button" class="plain" onClick={() => setParams({ fold: undefined })}>
              none
            </button>
            {spaces.map((space) => (
              <label key={space} class="check">
                <input
                  type="checkbox"
                  checked={isFolded.has(space)}
                  onChange={() => {
                    const next = isFolded.has(space) ? [...isFolded].filter((s) => s !== space) : [...isFolded, space];
                    setParams({ fold: next.join(',') });
                  }}
                />{' '}
                {space}
              </label>
            ))}
          </div>
        </details>
        <span class="quiet">
          {graph.nodes.length} nodes, {graph.edges.length} edges. Width: rate. Dashed and ✕: failing. Dotted: seen in
          flows only.
        </span>
      </div>
      <div class="map-frame">
        <div
          class="map"
          ref={host}
          role="img"
          aria-label={`Map of who talks to whom; the table below has ${partOf(graph)} of its ${graph.edges.length} edges`}
        />
        {chosen === '' ? null : (
          <Chosen graph={graph} id={chosen} isHere={isChosenHere} window={linkedWindow(params)} choose={choose} />
        )}
      </div>
      <h2>Edges</h2>
      <EdgeTable graph={graph} params={params} chosen={chosen} choose={choose} />
    </>
  );
}

/** Maximum number of edges in the table, which shows the first ones in its sort order. */
const maxRows = 200;

const partOf = ({ edges }: MapGraph): string => (edges.length > maxRows ? `the first ${maxRows}` : 'all');

interface EdgeTableProps {
  readonly graph: MapGraph;
  readonly params: URLSearchParams;
  readonly chosen: string;
  readonly choose: (id: string) => void;
}

/** What the map lets a pointer choose is a button here: the nodes without an edge, and what the shown rows have. */
function EdgeTable({ graph, params, chosen, choose }: EdgeTableProps): JSX.Element {
  const names = new Map(graph.nodes.map((node) => [node.id, titleOf(node)]));
  const lone = useMemo(() => nodesWithoutEdge(graph), [graph]);
  const order = orderOf(params.get('sort'), { key: 'errors', down: true });
  const button = (id: string, text: string | undefined, label?: string): JSX.Element => (
    <button
      key={id}
      type="button"
      class="plain"
      aria-pressed={id === chosen}
      aria-label={label}
      onClick={() => choose(id)}
    >
      {text}
    </button>
  );
  const columns: Column<MapEdge>[] = [
    {
      key: 'from',
      title: 'From',
      by: ({ source }) => names.get(source) ?? '',
      cell: ({ source }) => button(source, names.get(source)),
    },
    {
      key: 'edge',
      title: 'Edge',
      cell: ({ id, source, target }) => button(id, '→', `${names.get(source)} → ${names.get(target)}`),
    },
    {
      key: 'to',
      title: 'To',
      by: ({ target }) => names.get(target) ?? '',
      cell: ({ target }) => button(target, names.get(target)),
    },
    {
      key: 'protocol',
      title: 'Protocol',
      wide: true,
      by: ({ protocol }) => protocol,
      cell: ({ protocol }) => protocol,
    },
    { key: 'rate', title: 'Requests', numeric: true, by: (e) => e.requestRate, cell: (e) => perSecond(e.requestRate) },
    {
      key: 'errors',
      title: 'Errors',
      numeric: true,
      by: (e) => e.errorShare,
      cell: (e) => <ErrorShare share={e.errorShare} />,
    },
    { key: 'p99', title: 'p99', numeric: true, by: (e) => e.p99Ms, cell: (e) => duration(e.p99Ms) },
    {
      key: 'bytes',
      title: 'Bytes',
      numeric: true,
      by: (e) => e.bytesPerSecond,
      cell: (e) => bytesPerSecond(e.bytesPerSecond),
    },
  ];
  return (
    <>
      {graph.edges.length > maxRows ? <p class="quiet">The first {maxRows} in this order.</p> : null}
      <Table
        label="Edges"
        columns={columns}
        rows={graph.edges}
        keyOf={({ id }) => id}
        order={order}
        onOrder={(next) => setParams({ sort: orderText(next) })}
        most={maxRows}
      />
      {lone.length > 0 ? (
        <>
          <h3>Nodes without an edge</h3>
          <div class="row wrap">{lone.map((node) => button(node.id, titleOf(node)))}</div>
        </>
      ) : null}
    </>
  );
}
