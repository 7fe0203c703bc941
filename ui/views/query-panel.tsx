/** One expression with its settings and its result; a live one is sent again every few seconds. */
import type { JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure, asFailure, onToken } from '../api/client.ts';
import { createEditor, type Editor } from '../parts/editor.ts';
import { addToHistory, markRan } from '../state/ran-here.ts';
import { durationText, secondsOf } from '../state/duration.ts';
import { waitsForUser } from '../state/live-query.ts';
import { endOf, type Panel } from '../state/panels.ts';
import { repeat } from '../state/repeat.ts';
import { visibility } from '../state/visibility.ts';
import { answered, askAll, type PanelAnswers } from './panel-answers.ts';
import { QueryFailure, ResultOf } from './query-result.tsx';
import { querySummary } from './query-summary.ts';

/** A live query is sent again this long after its answer. Unit: ms. */
const everyMs = 5_000;
const ranges = ['5m', '15m', '1h', '6h', '1d', '1w'];

interface Result extends PanelAnswers {
  readonly ms: number;
}

export interface QueryPanelProps {
  readonly panel: Panel;
  /** The query came from a link, and runs only when the user asks for it. */
  readonly waits: boolean;
  readonly live: boolean;
  /** How long a request may take; undefined: not known yet, and queries wait until it is. Unit: ms. */
  readonly deadlineMs: number | undefined;
  readonly onLive?: (live: boolean) => void;
  readonly onChange: (panel: Panel) => void;
  readonly onRemove?: () => void;
}

export function QueryPanel(props: QueryPanelProps): JSX.Element {
  const { panel, waits, live, deadlineMs, onLive, onChange, onRemove } = props;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const text = useRef(panel.expr);
  const ended = useRef<AbortController>(undefined);
  const [waiting, setWaiting] = useState(waits && panel.expr !== '');
  const [running, setRunning] = useState(false);
  const [cancelled, setCancelled] = useState(false);
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
    setCancelled(false);
    if (deadlineMs === undefined) return;
    const started = performance.now();
    try {
      const answers = await askAll(asked, { signal: own.signal, deadlineMs });
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
    void latest.current.run(next);
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
    return () => {
      ended.current?.abort();
      made.destroy();
    };
  }, []);
  // A layout effect, so that the mark appears together with the failure, not one render later.
  useLayoutEffect(() => editor.current?.invalid(failure?.kind === 'refused'), [failure]);
  const isIdle = waiting || cancelled;
  const isReady = deadlineMs !== undefined;
  useEffect(() => {
    if (!isIdle) void latest.current.run(latest.current.panel);
  }, [isReady]);
  useEffect(() => onToken(() => (isIdle ? undefined : void latest.current.run(latest.current.panel))), [isIdle]);
  const failed = [failure, result?.graph, result?.found].some((one) => one instanceof ApiFailure && waitsForUser(one));
  useEffect(() => {
    // A running query is not interrupted: it may take longer than the interval.
    if (!live || isIdle || running || failed || panel.end !== undefined) return;
    return repeat(everyMs, failure?.kind, () => void latest.current.run(latest.current.panel), visibility);
  }, [live, isIdle, running, failed, failure, panel.end]);
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
                setCancelled(true);
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
          : cancelled
            ? 'Cancelled. Run sends it again.'
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
          deadlineMs={deadlineMs}
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

/** A time in the format of a `datetime-local` field. Unit: s since the epoch. */
function localTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
