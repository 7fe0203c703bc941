/** What a query panel shows of its answers: warnings, graph, exemplars, table of values, and how the query ran. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ApiFailure } from '../api/client.ts';
import {
  instant,
  numberOf,
  seriesOf,
  type ExemplarSeries,
  type Explained,
  type QueryData,
  type Series,
} from '../api/promql.ts';
import { columnsOf, heatOf, maxLines } from '../parts/chart-data.ts';
import { Chart, type Mark } from '../parts/chart.tsx';
import { Degraded } from '../parts/degraded.tsx';
import { errorText } from '../parts/error-text.ts';
import { seriesName } from '../parts/format.ts';
import { HeatMap } from '../parts/heat-map.tsx';
import { Failed } from '../parts/states.tsx';
import { filterOfLabels, type LiveFilter } from '../state/live-filter.ts';
import type { Panel } from '../state/panels.ts';
import { addressOf } from '../state/place.ts';
import { useAnswer } from '../state/use-answer.ts';
import { answered, type PanelAnswers } from './panel-answers.ts';
import { maxRows } from './query-summary.ts';

interface QueryFailureProps {
  readonly failure: ApiFailure;
  readonly expr: string;
  readonly again: () => void;
}

/** Why a query, or a part of its answers, failed; with the position of an error in the expression. */
export function QueryFailure({ failure, expr, again }: QueryFailureProps): JSX.Element {
  if (failure.kind !== 'refused') return <Failed failure={failure} again={again} />;
  return (
    <pre class="error" role="alert">
      {errorText(failure.message, expr)}
    </pre>
  );
}

interface ResultProps {
  readonly result: PanelAnswers;
  readonly panel: Panel;
  readonly onZoom: (start: number, end: number) => void;
  readonly again: () => void;
  /** How long a request may take. Unit: ms. */
  readonly deadlineMs: number | undefined;
}

export function ResultOf({ result, panel, onZoom, again, deadlineMs }: ResultProps): JSX.Element {
  const { now, graph, found } = result;
  const matrix = answered(graph);
  const marks = useMemo(() => marksOf(answered(found)?.data ?? []), [found]);
  const drawn = useMemo(() => {
    if (!matrix) return undefined;
    const { asked } = matrix.data;
    const series = seriesOf(matrix.data);
    const lines = series.filter(({ values }) => values !== undefined).slice(0, maxLines);
    const names = lines.map(({ metric }) => seriesName(metric));
    return { heat: heatOf(series, asked), lines: { data: columnsOf(lines, asked), names } };
  }, [matrix]);
  const answers = [now, matrix, answered(found)].filter((one) => one !== undefined);
  return (
    <>
      <Degraded
        answer={{
          ...now,
          degraded: answers.some(({ degraded }) => degraded),
          missingNodes: answers.flatMap(({ missingNodes }) => missingNodes),
          warnings: answers.flatMap(({ warnings, infos }) => [...warnings, ...infos]),
        }}
      />
      {graph instanceof ApiFailure ? <QueryFailure failure={graph} expr={panel.expr} again={again} /> : null}
      {drawn?.heat ? <HeatMap heat={drawn.heat} label={panel.expr} /> : null}
      {drawn && drawn.lines.names.length > 0 ? (
        <Chart {...drawn.lines} label="Graph" stacked={panel.stacked} log={panel.log} marks={marks} onZoom={onZoom} />
      ) : null}
      {found instanceof ApiFailure ? (
        <QueryFailure failure={found} expr={panel.expr} again={again} />
      ) : found ? (
        <Exemplars marks={marks} />
      ) : null}
      <ResultTable data={now.data} />
      <Explain panel={panel} deadlineMs={deadlineMs} />
    </>
  );
}

const marksOf = (series: readonly ExemplarSeries[]): Mark[] =>
  series
    .flatMap((one) => one.exemplars)
    .map(({ timestamp, value, labels }) => ({
      time: timestamp,
      value: numberOf(value),
      text: labels['trace_id'] ?? seriesName(labels),
    }));

function Exemplars({ marks }: { marks: readonly Mark[] }): JSX.Element {
  if (marks.length === 0) return <p class="quiet">No exemplars in this time.</p>;
  return (
    <details>
      <summary>{marks.length} exemplars</summary>
      <ul class="mono">
        {marks.slice(-50).map(({ text, value }, i) => (
          <li key={i}>
            {text} {value}
          </li>
        ))}
      </ul>
    </details>
  );
}

function ResultTable({ data }: { data: QueryData }): JSX.Element {
  const rows: [string, string, (Partial<LiveFilter> | undefined)?][] =
    data.resultType === 'scalar' || data.resultType === 'string'
      ? [['', data.result[1]]]
      : seriesOf(data)
          .slice(0, maxRows)
          .map((series) => [seriesName(series.metric), lastValue(series), filterOfLabels(series.metric)]);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of values">
      <table class="result mono">
        <thead>
          <tr>
            <th scope="col">series</th>
            <th scope="col" class="num">
              value
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, value, spans]) => (
            <tr key={name}>
              <td>
                {name}
                {spans ? (
                  <>
                    {' '}
                    <a href={addressOf('live', spans)} aria-label={`spans of ${name}`}>
                      spans
                    </a>
                  </>
                ) : null}
              </td>
              <td class="num">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function lastValue({ value, values, histogram, histograms }: Series): string {
  const native = histogram ?? histograms?.at(-1);
  if (native) return `count ${native[1].count}, sum ${native[1].sum}`;
  return value?.[1] ?? values?.at(-1)?.[1] ?? '';
}

/** How the query ran on the agents. Requested when it is opened, and again when the query changes. */
function Explain(props: { panel: Panel; deadlineMs: number | undefined }): JSX.Element {
  const { panel, deadlineMs } = props;
  const { expr, end } = panel;
  const [open, setOpen] = useState(false);
  const asked = useAnswer(`${end} ${expr}`, (signal) => instant(expr, end, { signal, deadlineMs, explain: true }), {
    enabled: open,
  });
  const explained = asked.answer?.explain as Explained | undefined;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>How it ran on the agents</summary>
      {asked.failure ? <p role="alert">{asked.failure.message}</p> : null}
      {explained ? (
        <>
          <p>
            Path <code>{explained.path}</code>
          </p>
          <pre>{explained.plan.join('\n')}</pre>
          {explained.fragments.map((fragment, i) => (
            <div class="scroll" key={i} tabIndex={0} role="region" aria-label={`Fragment ${i + 1}`}>
              <table class="mono">
                <caption>{fragment.expr ?? `fragment ${i + 1}`}</caption>
                <thead>
                  <tr>
                    {Object.keys(fragment.nodes[0] ?? {}).map((name) => (
                      <th scope="col" key={name}>
                        {name}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {fragment.nodes.map((node, j) => (
                    <tr key={j}>
                      {Object.values(node).map((value, k) => (
                        <td key={k}>{typeof value === 'object' ? JSON.stringify(value) : String(value)}</td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          ))}
        </>
      ) : null}
    </details>
  );
}
