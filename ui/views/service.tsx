/** One workload: its numbers over the last hour, its routes and pods, who calls it, whom it calls, and its monitor. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { services, topology } from '../api/page.ts';
import { instant, lastSeconds, numberOf, range, seriesOf, type RangeData } from '../api/promql.ts';
import { columnsOf } from '../parts/chart-data.ts';
import { Chart } from '../parts/chart.tsx';
import { DegradedOnce } from '../parts/degraded.tsx';
import { ErrorShare } from '../parts/error-share.tsx';
import { duration, percent, perSecond } from '../parts/format.ts';
import { PromqlLink } from '../parts/promql-link.tsx';
import { Empty, Note, Shown } from '../parts/states.tsx';
import { WindowChoice } from '../parts/window.tsx';
import { addressOf, type Place } from '../state/place.ts';
import { useAnswer } from '../state/use-answer.ts';
import { linkedWindow, windowOf } from '../state/window.ts';
import { Explained } from './explained.tsx';
import { monitorYaml } from './monitor-yaml.ts';
import { NewestSpans } from './live/newest-spans.tsx';
import { serviceQueries, type ServiceQueries } from './service-queries.ts';
import { summaryOf, workloadNodeOf, type Workload } from './workload-of.ts';

export function Service({ place: { params } }: { place: Place }): JSX.Element {
  const [namespace, name, kind] = ['ns', 'name', 'kind'].map((key) => params.get(key) ?? '') as [
    string,
    string,
    string,
  ];
  const named: Workload = { namespace, name, kind };
  const window = windowOf(params);
  const asked = useAnswer(`service ${window}`, (signal) => services(window, { signal }), { everyMs: 15_000 });
  const summary = asked.answer && summaryOf(asked.answer.data, named);
  const own: Workload = { namespace, name, kind: kind || (summary?.workloadKind ?? '') };
  return (
    <>
      <div class="row wrap tools">
        <a href={addressOf('services', { window: linkedWindow(params) })}>Services</a>
        <h2 class="title">
          <span class="quiet">{namespace}/</span>
          {name} <small>{own.kind}</small>
        </h2>
        <WindowChoice params={params} />
      </div>
      <DegradedOnce>
        <Shown asked={asked} what="this service">
          {(all) => {
            const found = summaryOf(all, named);
            if (!found) return <Empty title="This workload was not seen in this time">Try a longer window.</Empty>;
            return (
              <>
                {found.why ? <Note kind="warn" title={`Not captured: ${found.why}`} /> : null}
                <dl class="facts">
                  <dt>Requests</dt>
                  <dd>{perSecond(found.requestRate)}</dd>
                  <dt>Errors</dt>
                  <dd>
                    <ErrorShare share={found.errorShare} />
                  </dd>
                  <dt>p50, p99</dt>
                  <dd>
                    {duration(found.p50Ms)}, {duration(found.p99Ms)}
                  </dd>
                  <dt>Nodes</dt>
                  <dd>{found.nodes.join(', ') || '–'}</dd>
                  <dt>Monitors</dt>
                  <dd>{found.monitors === null ? 'not known' : found.monitors.join(', ') || 'none'}</dd>
                </dl>
                {found.monitors?.length === 0 ? <AddMonitor namespace={namespace} name={name} /> : null}
              </>
            );
          }}
        </Shown>
        {own.kind === '' ? null : (
          <Details own={own} window={window} linked={linkedWindow(params)} slowMs={summary?.p99Ms} />
        )}
      </DegradedOnce>
    </>
  );
}

interface DetailsProps {
  /** With its kind. */
  readonly own: Workload;
  readonly window: string;
  readonly linked: string | undefined;
  /** Unit: ms. */
  readonly slowMs: number | null | undefined;
}

/** What is asked about the workload alone. */
function Details({ own, window, linked, slowMs }: DetailsProps): JSX.Element {
  const { namespace, name, kind } = own;
  const queries = serviceQueries(own);
  return (
    <>
      <div class="graphs">
        <Graph title="Requests" expr={queries.rate} format={perSecond} />
        <Graph title="Errors" expr={queries.errorShare} format={percent} />
        <Graph title="p99" expr={queries.p99} format={duration} />
      </div>
      <Breakdown title="Routes" labels={['http_route', 'rpc_method']} by={queries.by} />
      <Explained namespace={namespace} workload={name} kind={kind} />
      <Breakdown title="Requests by pod" labels={['k8s_pod_name']} by={queries.by} />
      <NewestSpans namespace={namespace} name={name} kind={kind} window={window} slowMs={slowMs} />
      <Peers own={own} window={window} linked={linked} />
    </>
  );
}

function Graph(props: { title: string; expr: string; format: (value: number | null) => string }): JSX.Element {
  const { title, expr, format } = props;
  const asked = useAnswer<RangeData>(
    expr,
    async (signal) => range(expr, await lastSeconds(3600, 15, undefined), { signal }),
    { everyMs: 30_000 },
  );
  const graph = asked.answer?.data;
  const data = useMemo(() => graph && columnsOf(seriesOf(graph), graph.asked), [graph]);
  return (
    <section class="panel" aria-label={title}>
      <h3>{title}</h3>
      <Shown asked={asked} what={title.toLowerCase()}>
        {() =>
          data === undefined || data.columns.length === 0 ? (
            <p class="quiet">Nothing in the last hour.</p>
          ) : (
            <Chart data={data} names={[title]} label={title} height={170} format={format} />
          )
        }
      </Shown>
      <PromqlLink title="as a query" expr={expr} />
    </section>
  );
}

/** A series is named by the first of the labels that it has. */
function Breakdown(props: { title: string; labels: readonly string[]; by: ServiceQueries['by'] }): JSX.Element {
  const { title, labels, by } = props;
  const expr = by(...labels);
  const asked = useAnswer(expr, (signal) => instant(expr, undefined, { signal }), { everyMs: 30_000 });
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <Shown asked={asked} what={title.toLowerCase()}>
        {(data) => (
          <table>
            <thead>
              <tr>
                <th scope="col">{title}</th>
                <th scope="col" class="num">
                  Requests
                </th>
              </tr>
            </thead>
            <tbody>
              {seriesOf(data)
                .slice(0, 30)
                .map(({ metric, value }) => (
                  <tr key={JSON.stringify(metric)}>
                    <td>{labels.map((label) => metric[label]).find(Boolean) ?? 'not known'}</td>
                    <td class="num">{perSecond(value && numberOf(value[1]))}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        )}
      </Shown>
    </section>
  );
}

/** The callers of the workload and the workloads that it calls, with the numbers of each edge. */
function Peers(props: { own: Workload; window: string; linked: string | undefined }): JSX.Element {
  const { own, window, linked } = props;
  const { namespace } = own;
  const asked = useAnswer(
    `peers ${namespace} ${window}`,
    (signal) => topology({ by: 'workload', window, namespace }, { signal }),
    { everyMs: 30_000 },
  );
  return (
    <Shown asked={asked} what="callers">
      {({ nodes, edges }) => {
        const id = workloadNodeOf(nodes, own)?.id;
        const title = (of: string): string => {
          const node = nodes.find((each) => each.id === of);
          return node?.namespace ? `${node.namespace}/${node.name}` : node?.name || 'unknown';
        };
        const sides = [
          ['Called by', edges.filter(({ target }) => target === id), 'source'],
          ['Calls', edges.filter(({ source }) => source === id), 'target'],
        ] as const;
        return sides.map(([heading, list, end]) => (
          <section key={heading} aria-label={heading}>
            <h2>
              {heading} ({list.length})
            </h2>
            <ul class="ends">
              {list.map((edge) => (
                <li key={edge.id}>
                  <a href={addressOf('map', { chosen: edge.id, window: linked })}>{title(edge[end])}</a>
                  <span class="num">{perSecond(edge.stats.requestRate)}</span>
                  <ErrorShare share={edge.stats.errorShare} />
                </li>
              ))}
            </ul>
          </section>
        ));
      }}
    </Shown>
  );
}

function AddMonitor({ namespace, name }: { namespace: string; name: string }): JSX.Element {
  const yaml = monitorYaml(namespace, name);
  return (
    <details>
      <summary>Add a monitor</summary>
      <button type="button" onClick={() => void navigator.clipboard.writeText(yaml)}>
        Copy
      </button>
      <pre>{yaml}</pre>
    </details>
  );
}
