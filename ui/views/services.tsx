/** Every workload with its rate, errors and durations. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { services, type ServiceSummary } from '../api/page.ts';
import { ErrorShare } from '../parts/error-share.tsx';
import { duration, perSecond } from '../parts/format.ts';
import { Sparkline } from '../parts/sparkline.tsx';
import { orderOf, orderText, type Order } from '../parts/sort.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { WindowChoice } from '../parts/window.tsx';
import { addressOf, type Place } from '../state/place.ts';
import { setParams } from '../state/router.ts';
import { useAnswer } from '../state/use-answer.ts';
import { linkedWindow, windowOf } from '../state/window.ts';
import { filterServices } from './filter-services.ts';

const failing: Order = { key: 'errors', down: true };

/** `window`, the span of time that is shown, is passed on in the links to the view of a service. */
const columnsFor = (window: string | undefined): readonly Column<ServiceSummary>[] => [
  {
    key: 'name',
    title: 'Workload',
    by: ({ namespace, workload }) => `${namespace}/${workload}`,
    cell: ({ namespace, workload, workloadKind }) => (
      <a class="workload" href={addressOf('service', { ns: namespace, name: workload, kind: workloadKind, window })}>
        <span class="quiet">{namespace}/</span>
        <b>{workload}</b> <small class="quiet">{workloadKind}</small>
      </a>
    ),
  },
  {
    key: 'rate',
    title: 'Requests',
    numeric: true,
    by: ({ requestRate }) => requestRate,
    cell: ({ requestRate }) => perSecond(requestRate),
  },
  {
    key: 'trend',
    title: 'Trend',
    wide: true,
    cell: ({ sparkline, workload }) => <Sparkline points={sparkline.requestRate} label={`requests of ${workload}`} />,
  },
  {
    key: 'errors',
    title: 'Errors',
    numeric: true,
    by: ({ errorShare }) => errorShare,
    cell: ({ errorShare }) => <ErrorShare share={errorShare} />,
  },
  {
    key: 'trouble',
    title: 'Trend',
    wide: true,
    cell: ({ sparkline, workload }) =>
      sparkline.errorShare.some((share) => (share ?? 0) > 0) ? (
        <Sparkline points={sparkline.errorShare} label={`errors of ${workload}`} kind="errors" />
      ) : null,
  },
  { key: 'p50', title: 'p50', numeric: true, by: ({ p50Ms }) => p50Ms, cell: ({ p50Ms }) => duration(p50Ms) },
  { key: 'p99', title: 'p99', numeric: true, by: ({ p99Ms }) => p99Ms, cell: ({ p99Ms }) => duration(p99Ms) },
  {
    key: 'capture',
    title: 'Capture',
    by: ({ captured, monitors }) => (captured ? (monitors?.length ?? 0) + 1 : 0),
    cell: (service) => <Capture service={service} />,
  },
];

function Capture({ service: { captured, why, monitors } }: { service: ServiceSummary }): JSX.Element {
  if (!captured) {
    return (
      <span class="tag bad" title={why ?? undefined}>
        ✕ not captured{why ? <small class="reason">{why}</small> : null}
      </span>
    );
  }
  if (monitors === null) return <span class="tag">✓ captured</span>;
  if (monitors.length === 0) return <span class="tag warn">▲ no monitor</span>;
  return (
    <span class="tag" title={`captured; selected by ${monitors.join(', ')}`}>
      ✓ {monitors.length === 1 ? monitors[0] : `${monitors.length} monitors`}
    </span>
  );
}

export function Services({ place }: { place: Place }): JSX.Element {
  const { params } = place;
  const window = windowOf(params);
  const asked = useAnswer(`services ${window}`, (signal) => services(window, { signal }), { everyMs: 15_000 });
  const filter = params.get('filter') ?? '';
  const order = orderOf(params.get('sort'), failing);
  const linked = linkedWindow(params);
  const columns = useMemo(() => columnsFor(linked), [linked]);
  return (
    <>
      <div class="row wrap tools">
        <input
          type="search"
          aria-label="Filter services"
          placeholder="Filter: shop, checkout, ns:shop, node:node-1, is:failing, is:uncaptured"
          value={filter}
          onInput={(event) => setParams({ filter: event.currentTarget.value })}
        />
        <WindowChoice params={params} />
      </div>
      <Shown asked={asked} what="services">
        {(all) => {
          if (all.length === 0) {
            return (
              <Empty title="No workload has been seen yet">
                Agents show what they capture within a minute. If nothing appears, see whether{' '}
                <a href="nodes">each node</a> has an agent.
              </Empty>
            );
          }
          const rows = filterServices(all, filter);
          if (rows.length === 0)
            return <Empty title={`None of ${all.length} workloads matches`}>Change the filter.</Empty>;
          return (
            <>
              <p class="quiet status" role="status">
                {rows.length === all.length ? `${all.length} workloads` : `${rows.length} of ${all.length} workloads`}
              </p>
              <Table
                label="Services"
                columns={columns}
                rows={rows}
                keyOf={({ namespace, workload, workloadKind }) => `${namespace}/${workload}/${workloadKind}`}
                order={order}
                onOrder={(next) => setParams({ sort: orderText(next) })}
              />
            </>
          );
        }}
      </Shown>
    </>
  );
}
