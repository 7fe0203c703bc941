/** PromQL over all nodes: panels with an expression, a graph and a table each. The URL restores all of them. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { defaultDeadlineMs, onToken } from '../api/client.ts';
import { flags, instant, seriesOf } from '../api/promql.ts';
import { deadlineOf } from '../state/live-query.ts';
import { addressOf, type Place } from '../state/place.ts';
import { defaultPanel, maxPanels, panelsOf, paramsOf, queryParams, type Panel } from '../state/panels.ts';
import { markRan, queryHistory, ranHere } from '../state/ran-here.ts';
import { repeat } from '../state/repeat.ts';
import { replaceParams } from '../state/router.ts';
import { useAnswer } from '../state/use-answer.ts';
import { visibility } from '../state/visibility.ts';
import { QueryPanel } from './query-panel.tsx';

const examples: readonly (readonly [string, string])[] = [
  ['agents up', 'sum(svc_agent_up)'],
  ['requests per service', 'sum by (service_name) (rate(http_server_request_duration_count[1m]))'],
  [
    'p99 latency',
    'histogram_quantile(0.99, sum by (le, service_name) (rate(http_server_request_duration_bucket[1m])))',
  ],
  [
    'error ratio',
    'sum by (service_name) (rate(http_server_request_duration_count{http_response_status_code=~"5.."}[1m])) / sum by (service_name) (rate(http_server_request_duration_count[1m]))',
  ],
];

/** A panel with a stable identity: its editor survives when other panels are added or removed. */
interface Kept {
  readonly id: number;
  readonly panel: Panel;
  /** The query came from a link, and runs only when the user asks for it. */
  readonly waits: boolean;
}

let nextId = 0;
const keep = (panel: Panel): Kept => ({ id: nextId++, panel, waits: !ranHere(panel.expr) });

function begin(params: URLSearchParams): Kept[] {
  const panels = panelsOf(params);
  if (panels.length > 0) return panels.map(keep);
  const expr = examples[1]![1];
  markRan(expr);
  return [keep({ ...defaultPanel, expr })];
}

export function Query({ place }: { place: Place }): JSX.Element {
  const [kept, setKept] = useState(() => begin(place.params));
  const [live, setLive] = useState(true);
  const deadlineMs = useDeadline();
  // Back, forward and links load other panels; what this view began with or wrote to the URL itself is already shown.
  const address = place.params.toString();
  const shown = useRef(address);
  useEffect(() => {
    if (shown.current !== address) setKept(begin(place.params));
    shown.current = address;
  }, [address]);

  const change = (next: Kept[]): void => {
    const params = paramsOf(next.map(({ panel }) => panel));
    shown.current = params.toString();
    setKept(next);
    replaceParams('graph', params);
  };
  const [first] = kept;
  return (
    <>
      <NodeStrip live={live} />
      <nav class="row wrap quiet" aria-label="Examples">
        {examples.map(([text, expr]) => (
          <a
            key={text}
            href={addressOf('graph', queryParams(expr))}
            onClick={(event) => {
              event.preventDefault();
              markRan(expr);
              if (first) change([keep({ ...first.panel, expr }), ...kept.slice(1)]);
            }}
          >
            {text}
          </a>
        ))}
        <History onChoose={(expr) => change([keep({ ...(first?.panel ?? defaultPanel), expr }), ...kept.slice(1)])} />
      </nav>
      {kept.map((one, i) => (
        <QueryPanel
          key={one.id}
          panel={one.panel}
          waits={one.waits}
          live={live}
          deadlineMs={deadlineMs}
          {...(i === 0 ? { onLive: setLive } : {})}
          onChange={(panel) => change(kept.map((k) => (k.id === one.id ? { ...k, panel } : k)))}
          {...(kept.length > 1 ? { onRemove: () => change(kept.filter(({ id }) => id !== one.id)) } : {})}
        />
      ))}
      {kept.length < maxPanels ? (
        <button
          type="button"
          onClick={() => setKept([...kept, keep({ ...defaultPanel, range: first?.panel.range ?? 900 })])}
        >
          Add a panel
        </button>
      ) : null}
    </>
  );
}

/** Flags that could not be read are asked for again after this long. Unit: ms. */
const againMs = 5_000;

/**
 * How long a query may take by the server's flags. Undefined until they were asked for with this tab's token; the
 * default until they could be read, and queries that run meanwhile keep it. Unit: ms.
 */
function useDeadline(): number | undefined {
  const { answer, failure, loading, again } = useAnswer('flags', (signal) => flags({ signal }));
  const [failed, setFailed] = useState(false);
  useEffect(() => onToken(() => setFailed(false)), []);
  useEffect(() => {
    if (answer !== undefined || failure === undefined || loading) return;
    setFailed(true);
    return repeat(againMs, failure.kind, again, visibility);
  }, [answer, failure, loading]);
  return answer || failed ? (deadlineOf(answer?.data) ?? defaultDeadlineMs) : undefined;
}

function History({ onChoose }: { onChoose: (expr: string) => void }): JSX.Element | null {
  const queries = queryHistory();
  if (queries.length === 0) return null;
  return (
    <select
      aria-label="History"
      value=""
      onChange={(event) => {
        const { value } = event.currentTarget;
        if (value === '') return;
        markRan(value);
        onChoose(value);
      }}
    >
      <option value="">history</option>
      {queries.map((query) => (
        <option key={query} value={query}>
          {query.slice(0, 120)}
        </option>
      ))}
    </select>
  );
}

/** Shows which nodes answer at the moment. */
function NodeStrip({ live }: { live: boolean }): JSX.Element {
  const { answer } = useAnswer('nodes', (signal) => instant('svc_agent_up', undefined, { signal }), {
    everyMs: live ? 5_000 : 0,
  });
  const up = answer ? seriesOf(answer.data).map(({ metric }) => [metric['k8s_node_name'] ?? '?', false] as const) : [];
  const missing = answer?.missingNodes.map((name) => [name, true] as const) ?? [];
  const rows = [...up, ...missing].sort(([a], [b]) => (a < b ? -1 : 1));
  return (
    <ol id="nodes" aria-label="Nodes" class="pills">
      {rows.map(([name, gone]) => (
        <li key={name} class={gone ? 'missing' : ''} title={gone ? 'no answer' : 'answered'}>
          {gone ? <span class="away">no answer: </span> : null}
          {name}
        </li>
      ))}
    </ol>
  );
}
