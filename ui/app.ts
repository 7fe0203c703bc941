/** The query page: one expression, a graph, a table, and which nodes answered. */
import { call, setToken, type Answer, type Sample } from './api.ts';
import { attachCompletion } from './completer.ts';
import { errorText } from './error-text.ts';
import { drawGraph, maxLines } from './graph.ts';

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const expr = element<HTMLTextAreaElement>('expr');
const range = element<HTMLSelectElement>('range');
const live = element<HTMLInputElement>('live');

const examples: [string, string][] = [
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

/** Most rows of the table. */
const maxRows = 500;

let running = 0;
/** What was asked last; what is being written is not asked until it is sent. */
let asked = '';

async function run(query = expr.value.trim()): Promise<void> {
  if (!query) return;
  asked = query;
  const turn = ++running;
  const seconds = Number(range.value);
  const end = Date.now() / 1000;
  const step = Math.max(1, Math.round(seconds / 250));
  history.replaceState(null, '', `?g0.expr=${encodeURIComponent(query)}&g0.range_input=${seconds}s`);
  const started = performance.now();
  try {
    const [now, matrix] = await Promise.all([
      call<Answer>('query', { query, time: String(end) }),
      call<Answer>('query_range', { query, start: String(end - seconds), end: String(end), step: String(step) }).catch(
        () => null,
      ),
    ]);
    if (turn !== running) return;
    showError('');
    showTable(now);
    showNotes(now, matrix);
    drawGraph(element('graph'), (matrix?.result ?? []) as Sample[], seriesName);
    const series = now.resultType === 'scalar' || now.resultType === 'string' ? 1 : now.result.length;
    const drawn = Math.max(series, matrix?.result.length ?? 0) > maxLines ? `; the first ${maxLines} are drawn` : '';
    const listed = series > maxRows ? `, the first ${maxRows} listed` : '';
    element('status').textContent =
      `${series} series in ${Math.round(performance.now() - started)} ms${drawn}${listed}`;
  } catch (error) {
    if (turn === running) showError(errorText(error instanceof Error ? error.message : String(error), query));
  }
}

/** An error, and nothing of the answer before it: those numbers are not what was asked for. */
function showError(text: string): void {
  show(element('error'), text);
  expr.setAttribute('aria-invalid', String(text !== ''));
  if (text === '') return;
  show(element('degraded'), '');
  element('warnings').replaceChildren();
  element('table').querySelector('tbody')!.replaceChildren();
  element('status').textContent = '';
  drawGraph(element('graph'), [], seriesName);
}

function showTable(answer: Answer): void {
  const body = element('table').querySelector('tbody')!;
  const scalar = answer.resultType === 'scalar' || answer.resultType === 'string';
  const rows = scalar
    ? [['', (answer.result as [number, string])[1]]]
    : (answer.result as Sample[]).map((s) => [seriesName(s.metric), lastValue(s)]);
  body.replaceChildren(
    ...rows.slice(0, maxRows).map((cells) => {
      const row = document.createElement('tr');
      row.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: text ?? '' })));
      return row;
    }),
  );
}

function showNotes(now: Answer, matrix: Answer | null): void {
  const missing = [...new Set([...now.missingNodes, ...(matrix?.missingNodes ?? [])])].sort();
  show(
    element('degraded'),
    now.degraded ? `Degraded: no answer from ${missing.join(', ')}. The numbers below lack these nodes.` : '',
  );
  const notes = [...new Set([...now.warnings, ...now.infos])];
  element('warnings').replaceChildren(
    ...notes.map((text) => Object.assign(document.createElement('li'), { textContent: text })),
  );
}

async function showNodes(): Promise<void> {
  const up = await call<Answer>('query', { query: 'svc_agent_up' }).catch(() => null);
  if (!up) return;
  const answered = (up.result as Sample[]).map((s) => s.metric['k8s_node_name'] ?? '?');
  const rows = [
    ...answered.map((name) => [name, false] as const),
    ...up.missingNodes.map((name) => [name, true] as const),
  ];
  rows.sort(([a], [b]) => (a < b ? -1 : 1));
  element('nodes').replaceChildren(
    ...rows.map(([name, missing]) =>
      Object.assign(document.createElement('li'), {
        textContent: name,
        className: missing ? 'missing' : '',
        title: missing ? 'no answer' : 'answered',
      }),
    ),
  );
}

function seriesName(metric: Record<string, string>): string {
  const { __name__: name = '', ...labels } = metric;
  const list = Object.entries(labels).map(([k, v]) => `${k}=${JSON.stringify(v)}`);
  return `${name}{${list.join(', ')}}`;
}

const lastValue = (s: Sample): string => s.value?.[1] ?? s.values?.at(-1)?.[1] ?? '';

function show(target: HTMLElement, text: string): void {
  target.textContent = text;
  target.hidden = text === '';
}

element('form').addEventListener('submit', (event) => {
  event.preventDefault();
  void run();
});
range.addEventListener('change', () => void run(asked));
element('token').addEventListener('click', () => element<HTMLDialogElement>('token-dialog').showModal());
element('token-dialog').addEventListener('close', () => {
  setToken(element<HTMLInputElement>('token-value').value);
  void run();
});
element('examples').append(
  ...examples.map(([text, query]) => {
    const link = Object.assign(document.createElement('a'), {
      textContent: text,
      href: `?g0.expr=${encodeURIComponent(query)}`,
    });
    link.addEventListener('click', (event) => {
      event.preventDefault();
      expr.value = query;
      void run();
    });
    return link;
  }),
);

expr.value = new URLSearchParams(location.search).get('g0.expr') ?? examples[1]![1];
attachCompletion(expr, element('options'), () => void run());
void run();
void showNodes();
setInterval(() => {
  if (!live.checked || document.hidden) return;
  void run(asked);
  void showNodes();
}, 5_000);
