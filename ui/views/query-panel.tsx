/** One expression with its graph, its table, the warnings of the answer, and how the query ran. */
import type { JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiFailure, asFailure, onToken } from '../api/client.ts';
import { instant, seriesOf, type ExemplarSeries, type Explained, type QueryData, type Series } from '../api/promql.ts';
import { columnsOf, heatOf, maxLines } from '../parts/chart-data.ts';
import { Chart, type Mark } from '../parts/chart.tsx';
import { Degraded } from '../parts/degraded.tsx';
import { createEditor, type Editor } from '../parts/editor.ts';
import { errorText } from '../parts/error-text.ts';
import { seriesName } from '../parts/format.ts';
import { HeatMap } from '../parts/heat-map.tsx';
import { Failed } from '../parts/states.tsx';
import { addToHistory, markRan } from '../state/ran-here.ts';
import { durationText, secondsOf } from '../state/duration.ts';
import { filterOfLabels, type LiveFilter } from '../state/live-filter.ts';
import { endOf, type Panel } from '../state/panels.ts';
import { addressOf } from '../state/place.ts';
import { useAnswer } from '../state/use-answer.ts';
import { answered, askAll, type PanelAnswers } from './panel-answers.ts';
import { maxRows, querySummary } from './query-summary.ts';

const ranges = ['5m', '15m', '1h', '6h', '1d', '1w'];

interface Result extends PanelAnswers {
  readonly ms: number;
}

export interface QueryPanelProps {
  readonly panel: Panel;
  /** The query came from a link, and runs only when the user asks for it. */
  readonly waits: boolean;
  readonly live: boolean;
  readonly onLive?: (live: boolean) => void;
  readonly onChange: (panel: Panel) => void;
  readonly onRemove?: () => void;
}

export function QueryPanel(props: QueryPanelProps): JSX.Element {
  const { panel, waits, live, onLive, onChange, onRemove } = props;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const text = useRef(panel.expr);
  const ended = useRef<AbortController>(undefined);
  const [waiting, setWaiting] = useState(waits && panel.expr !== '');
  const [running, setRunning] = useState(false);
  const [result, setResult] = useState<Result>();
  const [failure, setFailure] = useState<ApiFailure>();
  const [rangeText, setRangeText] = useState(durationText(panel.range));
  const rangesId = useId();

  /** Runs `asked` and shows its result. Text in the editor runs only when it is submitted. */
  const run = async (asked: Panel): Promise<void> => {
    if (asked.expr.trim() === '') return;
    ended.current?.abort();
    const own = (ended.current = new AbortController());
    setRunning(true);
    const started = performance.now();
    try {
      const answers = await askAll(asked, own.signal);
      if (own.signal.aborted) return;
      setResult({ ...answers, ms: Math.round(performance.now() - started) });
      setFailure(undefined);
    } catch (error) {
      if (own.signal.aborted) return;
      // The previous result is dropped: it may belong to another query.
      setResult(undefined);
      setFailure(asFailure(error));
    }
    setRunning(false);
  };
  const latest = useRef({ panel, run, onChange });
  latest.current = { panel, run, onChange };

  /** Submits the text of the editor with the panel's settings, some of which `changes` overrides. */
  const sendNow = (changes: Partial<Panel> = {}): void => {
    const { panel: before, onChange: changed } = latest.current;
    const next = { ...before, expr: text.current.trim(), ...changes };
    if (next.expr === '') return;
    setWaiting(false);
    markRan(next.expr);
    addToHistory(next.expr);
    changed(next);
    void run(next);
  };
  /** Applies a changed setting: the shown query runs again; a query that waits for the user keeps waiting. */
  const setting = (changes: Partial<Panel>): void => {
    const next = { ...panel, ...changes };
    onChange(next);
    if (!waiting) void run(next);
  };

  useEffect(() => {
    const made = createEditor(host.current!, {
      text: panel.expr,
      label: 'PromQL expression',
      onChange: (written) => (text.current = written),
      onRun: () => sendNow(),
    });
    editor.current = made;
    if (!waiting) void run(panel);
    return () => {
      ended.current?.abort();
      made.destroy();
    };
  }, []);
  // A layout effect, so that the mark appears together with the failure, not one render later.
  useLayoutEffect(() => editor.current?.invalid(failure?.kind === 'refused'), [failure]);
  useEffect(() => onToken(() => (waiting ? undefined : void latest.current.run(latest.current.panel))), [waiting]);
  const unauthorized = failure?.kind === 'unauthorized';
  useEffect(() => {
    // A running query is not interrupted: it may take longer than the interval.
    // Without a token every answer would be the same refusal; a new token runs the query again.
    if (!live || waiting || running || unauthorized || panel.end !== undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden) void latest.current.run(latest.current.panel);
    }, 5_000);
    return () => clearInterval(timer);
  }, [live, waiting, running, unauthorized, panel.end]);
  useEffect(() => setRangeText(durationText(panel.range)), [panel.range]);

  return (
    <section class="panel" aria-label="Query panel">
      <form
        class="query"
        // The fields judge their values themselves; the browser would refuse an end between two minutes.
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          sendNow();
        }}
      >
        <div class="editor" ref={host} />
        <div class="row wrap">
          <label>
            <span class="away">Time range</span>
            <input
              class="range"
              list={rangesId}
              aria-label="Time range"
              value={rangeText}
              title="A duration such as 90s, 1h30m or 2d"
              onChange={(event) => {
                const seconds = secondsOf(event.currentTarget.value);
                if (seconds === undefined) setRangeText(durationText(panel.range));
                else setting({ range: seconds });
              }}
            />
          </label>
          <datalist id={rangesId}>
            {ranges.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
          <button type="submit" class="primary">
            Run
          </button>
          {running ? (
            <button
              type="button"
              onClick={() => {
                ended.current?.abort();
                setRunning(false);
              }}
            >
              Cancel
            </button>
          ) : null}
          {onLive ? <Check label="live" on={live} set={onLive} /> : null}
          <label class="quiet">
            until{' '}
            <input
              type="datetime-local"
              aria-label="End time; empty means now"
              value={panel.end === undefined ? '' : localTime(panel.end)}
              onChange={(event) => setting({ end: endOf(event.currentTarget.value) })}
            />
          </label>
          <Check label="stacked" on={panel.stacked} set={(stacked) => onChange({ ...panel, stacked })} />
          <Check label="log" on={panel.log} set={(log) => onChange({ ...panel, log })} />
          <Check label="exemplars" on={panel.exemplars} set={(on) => setting({ exemplars: on })} />
          {onRemove ? (
            <button type="button" class="plain" onClick={onRemove}>
              Remove
            </button>
          ) : null}
        </div>
      </form>
      <p class="status quiet" role="status">
        {waiting
          ? 'A link brought this query. Read it, then press Run.'
          : running && result === undefined
            ? 'Asking the nodes …'
            : result
              ? querySummary(result.now.data, answered(result.graph)?.data, result.ms)
              : ''}
      </p>
      {failure ? <QueryFailure failure={failure} expr={panel.expr} again={() => void run(panel)} /> : null}
      {result ? (
        <ResultOf
          result={result}
          panel={panel}
          onZoom={(start, end) => setting({ range: end - start, end })}
          again={() => void run(panel)}
        />
      ) : null}
    </section>
  );
}

function Check({ label, on, set }: { label: string; on: boolean; set: (on: boolean) => void }): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} /> {label}
    </label>
  );
}

function QueryFailure({ failure, expr, again }: { failure: ApiFailure; expr: string; again: () => void }): JSX.Element {
  if (failure.kind !== 'refused') return <Failed failure={failure} again={again} />;
  return (
    <pre class="error" role="alert">
      {errorText(failure.message, expr)}
    </pre>
  );
}

interface ResultProps {
  readonly result: Result;
  readonly panel: Panel;
  readonly onZoom: (start: number, end: number) => void;
  readonly again: () => void;
}

function ResultOf({ result, panel, onZoom, again }: ResultProps): JSX.Element {
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
  const missing = [...new Set(answers.flatMap(({ missingNodes }) => missingNodes))];
  const notes = [...new Set(answers.flatMap(({ warnings, infos }) => [...warnings, ...infos]))];
  return (
    <>
      <Degraded answer={{ ...now, degraded: answers.some(({ degraded }) => degraded), missingNodes: missing }} />
      {notes.length > 0 ? (
        <ul class="warnings">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      ) : null}
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
      <Explain panel={panel} />
    </>
  );
}

const marksOf = (series: readonly ExemplarSeries[]): Mark[] =>
  series
    .flatMap((one) => one.exemplars)
    .map(({ timestamp, value, labels }) => ({
      time: timestamp,
      value: Number(value),
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
function Explain({ panel: { expr, end } }: { panel: Panel }): JSX.Element {
  const [open, setOpen] = useState(false);
  const asked = useAnswer(
    `${end} ${expr}`,
    (signal) => instant(expr, end ?? Date.now() / 1000, { signal, explain: true }),
    { enabled: open },
  );
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

/** A time in the format of a `datetime-local` field. Unit: s since the epoch. */
function localTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
