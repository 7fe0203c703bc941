/** Each node with its agent and instrument: what runs, how full it is, and why something is not captured. */
import type { JSX } from 'preact';
import { objects, type NodeReport, type ObjectItem } from '../api/page.ts';
import { serverClock } from '../api/server-clock.ts';
import { bytes, percent, short, span, timeLeft } from '../parts/format.ts';
import { orderOf, orderText } from '../parts/sort.ts';
import { Empty, Note, Shown } from '../parts/states.tsx';
import { Table, type Column } from '../parts/table.tsx';
import type { Place } from '../state/place.ts';
import { setParams } from '../state/router.ts';
import { useAnswer } from '../state/use-answer.ts';
import { troublesOf } from './node-troubles.ts';

interface Row {
  readonly name: string;
  readonly report: NodeReport;
  readonly troubles: readonly string[];
}

const columns: readonly Column<Row>[] = [
  { key: 'name', title: 'Node', by: ({ name }) => name, cell: ({ name }) => <b>{name}</b> },
  {
    key: 'state',
    title: 'State',
    by: ({ troubles, report }) => (report.missing === null ? troubles.length : 1000),
    cell: ({ report, troubles }) => <State report={report} troubles={troubles} />,
  },
  {
    key: 'versions',
    title: 'Agent, instrument',
    wide: true,
    by: ({ report }) => report.agentVersion,
    cell: ({ report }) => `${report.agentVersion ?? '–'}, ${report.instrumentVersion ?? '–'}`,
  },
  {
    key: 'config',
    title: 'Config',
    by: ({ report }) => report.phase,
    cell: ({ report: { phase, configHash } }) => (
      <span title={configHash ?? undefined}>
        {phase ?? '–'} <small class="quiet">{configHash?.replace('sha256:', '').slice(0, 8)}</small>
      </span>
    ),
  },
  {
    key: 'restarts',
    title: 'Restarts',
    numeric: true,
    by: ({ report }) => report.instrumentRestarts,
    cell: ({ report }) => short(report.instrumentRestarts),
  },
  {
    key: 'series',
    title: 'Series',
    numeric: true,
    by: ({ report }) => report.seriesActive,
    cell: ({ report: { seriesActive, seriesLimit } }) =>
      seriesActive !== null && seriesLimit
        ? `${short(seriesActive)} (${percent(seriesActive / seriesLimit)})`
        : short(seriesActive),
  },
  {
    key: 'memory',
    title: 'Memory: agent, instrument',
    numeric: true,
    wide: true,
    by: ({ report }) => report.agentMemoryBytes,
    cell: ({ report }) => `${bytes(report.agentMemoryBytes)}, ${bytes(report.instrumentMemoryBytes)}`,
  },
  {
    key: 'clock',
    title: 'Clock',
    numeric: true,
    wide: true,
    by: ({ report }) => report.clockOffsetMs,
    cell: ({ report: { clockOffsetMs: off } }) =>
      off === null ? '–' : off === 0 ? '✓' : `${off > 0 ? '+' : '−'}${span(off)}`,
  },
  {
    key: 'certificate',
    title: 'Certificate',
    numeric: true,
    wide: true,
    by: ({ report }) => report.certificateEndMs,
    cell: ({ report }) =>
      report.certificateEndMs === null ? '–' : timeLeft(report.certificateEndMs - serverClock.now()),
  },
];

function State({ report, troubles }: { report: NodeReport; troubles: readonly string[] }): JSX.Element {
  if (report.missing !== null) return <span class="tag bad">✕ {report.missing}</span>;
  if (troubles.length === 0) return <span class="tag good">✓ captures</span>;
  return (
    <ul class="troubles tag warn">
      {troubles.map((text) => (
        <li key={text}>▲ {text}</li>
      ))}
    </ul>
  );
}

export function Nodes({ place }: { place: Place }): JSX.Element {
  const asked = useAnswer('nodes', (signal) => objects('Node', { signal }), { everyMs: 15_000 });
  const rowOf = ({ metadata, node }: ObjectItem): Row[] =>
    node ? [{ name: metadata.name, report: node, troubles: troublesOf(node, serverClock.now()) }] : [];
  return (
    <Shown asked={asked} what="nodes">
      {({ items, forbidden }) => (
        <>
          {forbidden ? <Note kind="warn" title="You may not see all nodes; those you may not see are absent." /> : null}
          {items.length === 0 ? (
            <Empty title="No node is known">The query server has not found an agent yet.</Empty>
          ) : (
            <Table
              label="Nodes"
              columns={columns}
              rows={items.flatMap(rowOf)}
              keyOf={({ name }) => name}
              order={orderOf(place.params.get('sort'), { key: 'state', down: true })}
              onOrder={(order) => setParams({ sort: orderText(order) })}
            />
          )}
        </>
      )}
    </Shown>
  );
}
