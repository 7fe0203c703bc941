/** A live map of which workload calls which. Nodes keep their places while numbers change. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { topology, type Topology } from '../api/page.ts';
import { ErrorShare } from '../parts/error-share.tsx';
import { bytesPerSecond, duration, perSecond } from '../parts/format.ts';
import { PromqlLink } from '../parts/promql-link.tsx';
import { orderOf, orderText } from '../parts/sort.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { WindowChoice } from '../parts/window.tsx';
import { addressOf, type Place } from '../state/place.ts';
import { setParams } from '../state/router.ts';
import { onThemeChange } from '../state/theme.ts';
import { useAnswer } from '../state/use-answer.ts';
import { linkedWindow, windowOf } from '../state/window.ts';
import { drawMap, type Drawing } from './map/draw.ts';
import { foldTopology, type MapEdge, type MapGraph, type MapNode } from './map/fold.ts';

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
  const isFolded = new Set(folded.split(',').filter(Boolean));
  useEffect(() => {
    const made = drawMap(host.current!, (id) => setParams({ chosen: id }));
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
          aria-label="Map of who talks to whom; the table below has the same edges"
        />
        {chosen === '' ? null : <Chosen graph={graph} id={chosen} window={linkedWindow(params)} />}
      </div>
      <h2>Edges</h2>
      <EdgeTable graph={graph} params={params} />
    </>
  );
}

const titleOf = ({ namespace, name, folded }: MapNode): string =>
  folded > 0 ? namespace : namespace ? `${namespace}/${name}` : name || 'unknown';

function Chosen(props: { graph: MapGraph; id: string; window: string | undefined }): JSX.Element | null {
  const { graph, id, window } = props;
  const node = graph.nodes.find((each) => each.id === id);
  const edge = graph.edges.find((each) => each.id === id);
  const name = (of: string): string => {
    const found = graph.nodes.find((each) => each.id === of);
    return found ? titleOf(found) : of;
  };
  if (!node && !edge) return null;
  const close = (
    <button type="button" class="plain" onClick={() => setParams({ chosen: undefined })}>
      Close
    </button>
  );
  if (edge) {
    const { promql = {} } = edge;
    const queries = [
      ['requests', promql.requestRate],
      ['errors', promql.errorShare],
      ['p99', promql.p99],
      ['bytes', promql.bytes],
    ] as const;
    return (
      <aside class="chosen" aria-label="Chosen edge">
        <h2>
          {name(edge.source)} → {name(edge.target)}
        </h2>
        <dl>
          <dt>Protocol</dt>
          <dd>{edge.protocol}</dd>
          <dt>Requests</dt>
          <dd>{perSecond(edge.requestRate)}</dd>
          <dt>Errors</dt>
          <dd>
            <ErrorShare share={edge.errorShare} />
          </dd>
          <dt>p99</dt>
          <dd>{duration(edge.p99Ms)}</dd>
          <dt>Bytes</dt>
          <dd>{bytesPerSecond(edge.bytesPerSecond)}</dd>
          <dt>Seen in</dt>
          <dd>{edge.sources.join(' and ')}</dd>
        </dl>
        {queries.map(([title, expr]) =>
          expr === undefined ? null : <PromqlLink key={title} title={title} expr={expr} />,
        )}
        {close}
      </aside>
    );
  }
  const callers = graph.edges.filter(({ target }) => target === id);
  const callees = graph.edges.filter(({ source }) => source === id);
  return (
    <aside class="chosen" aria-label="Chosen node">
      <h2>{titleOf(node!)}</h2>
      {node!.kind === 'workload' && node!.folded === 0 ? (
        <p>
          <a href={addressOf('services', { filter: titleOf(node!), window })}>Find it among the services</a>
        </p>
      ) : null}
      <Ends title="Called by" edges={callers} name={({ source }) => name(source)} />
      <Ends title="Calls" edges={callees} name={({ target }) => name(target)} />
      {close}
    </aside>
  );
}

function Ends(props: { title: string; edges: readonly MapEdge[]; name: (edge: MapEdge) => string }): JSX.Element {
  const { title, edges, name } = props;
  return (
    <>
      <h3>
        {title} ({edges.length})
      </h3>
      <ul class="ends">
        {edges.slice(0, 20).map((edge) => (
          <li key={edge.id}>
            <button type="button" class="plain" onClick={() => setParams({ chosen: edge.id })}>
              {name(edge)}
            </button>
            <span class="num">{perSecond(edge.requestRate)}</span> <ErrorShare share={edge.errorShare} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Maximum number of edges in the table, which shows the first ones in its sort order. */
const maxRows = 200;

function EdgeTable({ graph, params }: { graph: MapGraph; params: URLSearchParams }): JSX.Element {
  const names = new Map(graph.nodes.map((node) => [node.id, titleOf(node)]));
  const order = orderOf(params.get('sort'), { key: 'errors', down: true });
  const columns: Column<MapEdge>[] = [
    {
      key: 'from',
      title: 'From',
      by: ({ source }) => names.get(source) ?? '',
      cell: (edge) => (
        <button type="button" class="plain" onClick={() => setParams({ chosen: edge.id })}>
          {names.get(edge.source)}
        </button>
      ),
    },
    { key: 'to', title: 'To', by: ({ target }) => names.get(target) ?? '', cell: ({ target }) => names.get(target) },
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
    </>
  );
}
