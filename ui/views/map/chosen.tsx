/** Everything about the chosen node or edge of the map. */
import type { JSX } from 'preact';
import { Details } from '../../parts/details.tsx';
import { ErrorShare } from '../../parts/error-share.tsx';
import { bytesPerSecond, duration, perSecond } from '../../parts/format.ts';
import { PromqlLink } from '../../parts/promql-link.tsx';
import { addressOf } from '../../state/place.ts';
import { titleOf, type MapEdge, type MapGraph, type MapNode } from './fold.ts';

export interface ChosenProps {
  readonly graph: MapGraph;
  readonly id: string;
  /** Whether the user chose it here. */
  readonly isHere: boolean;
  /** For links to other views. */
  readonly window: string | undefined;
  /** Called with the id of another node or edge, or with '' for none. */
  readonly choose: (id: string) => void;
}

export function Chosen({ graph, id, isHere, window, choose }: ChosenProps): JSX.Element {
  const node = graph.nodes.find((each) => each.id === id);
  const edge = graph.edges.find((each) => each.id === id);
  const name = (of: string): string => {
    const found = graph.nodes.find((each) => each.id === of);
    return found ? titleOf(found) : of;
  };
  const title = edge ? `${name(edge.source)} → ${name(edge.target)}` : node ? titleOf(node) : 'Not on this map';
  return (
    <Details
      of={id}
      label={edge ? 'Chosen edge' : 'Chosen node'}
      title={title}
      class="chosen"
      isChosenHere={isHere}
      close={() => choose('')}
    >
      {edge ? <EdgeFacts edge={edge} /> : null}
      {node ? (
        <>
          {node.kind === 'workload' && node.folded === 0 ? (
            <p>
              <a href={addressOf('services', { filter: title, window })}>Find it among the services</a>
            </p>
          ) : null}
          <Ends
            title="Called by"
            edges={graph.edges.filter(({ target }) => target === id)}
            end="source"
            {...{ name, choose }}
          />
          <Ends
            title="Calls"
            edges={graph.edges.filter(({ source }) => source === id)}
            end="target"
            {...{ name, choose }}
          />
        </>
      ) : null}
      {edge || node ? null : <p>It had no traffic in this time, or its namespace is folded.</p>}
    </Details>
  );
}

function EdgeFacts({ edge }: { edge: MapEdge }): JSX.Element {
  const { promql = {} } = edge;
  const queries = [
    ['requests', promql.requestRate],
    ['errors', promql.errorShare],
    ['p99', promql.p99],
    ['bytes', promql.bytes],
  ] as const;
  return (
    <>
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
    </>
  );
}

interface EndsProps {
  readonly title: string;
  readonly edges: readonly MapEdge[];
  /** The end of each edge that is named. */
  readonly end: 'source' | 'target';
  readonly name: (id: MapNode['id']) => string;
  readonly choose: (id: string) => void;
}

function Ends({ title, edges, end, name, choose }: EndsProps): JSX.Element {
  return (
    <>
      <h3>
        {title} ({edges.length})
      </h3>
      <ul class="ends">
        {edges.slice(0, 20).map((edge) => (
          <li key={edge.id}>
            <button type="button" class="plain" onClick={() => choose(edge.id)}>
              {name(edge[end])}
            </button>
            <span class="num">{perSecond(edge.requestRate)}</span> <ErrorShare share={edge.errorShare} />
          </li>
        ))}
      </ul>
    </>
  );
}
