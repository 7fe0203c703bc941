import type { Register } from '../command.ts';
import { type ApiAnswer, ApiFailure, askApi, tellCaveats } from '../connect/prometheus.ts';
import { PluginError, UsageError } from '../errors.ts';
import { graphText } from '../graph/graph.ts';
import { outputOption } from '../output/print.ts';
import { printable } from '../output/table.ts';
import type { Session } from '../session.ts';
import { csvText, promtoolText, tableText } from './formats.ts';
import { type Range, rangeOf, type TimeFlags } from './range.ts';
import { type MatrixSeries, type QueryData, seriesText } from './result.ts';
import { apiTime, durationFlag, timeFlag } from './times.ts';
import { readFile, stat } from 'node:fs/promises';
import { errorText } from '../../../base/errors.ts';

/** The largest number of rows of a graph, not counting its legend. */
const graphRows = 20;

/** A range as a graph of the terminal's width. Empty without series. */
function drawn({ stdout, style }: Session, result: readonly MatrixSeries[], range: Range): string {
  if (result.length === 0) return '';
  const series = result.map(({ metric, values = [] }) => ({
    label: seriesText(metric),
    points: values.map(([seconds, text]) => [seconds * 1000, Number(text)] as const),
  }));
  const legend = Math.min(series.length, 8);
  return graphText(series, {
    columns: stdout.columns,
    rows: Math.max(10, Math.min(graphRows + legend, stdout.rows - 1)),
    start: range.start,
    end: range.end,
    stepMs: range.stepMs,
    style,
  });
}

const formats = ['table', 'json', 'csv', 'promtool', 'graph'] as const;
type Format = (typeof formats)[number];

interface Flags extends TimeFlags {
  file?: string;
  time?: string;
  output?: string;
  timeout: string;
  limit?: string;
  explain: boolean;
  stats: boolean;
  partialResponse: string;
  headers: boolean;
}

/** `kubectl svc query`: PromQL over all nodes, at one moment or over a range. */
export const registerQuery: Register = (command, run) => {
  command
    .argument('[expression]', 'PromQL; - reads it from the standard input')
    .option('-f, --file <path>', 'file with the expression')
    .option('--time <time>', 'moment to ask about (default: now)')
    .option('--since <duration>', 'ask over a range: from so long ago until now')
    .option('--start <time>', 'start of the range')
    .option('--end <time>', 'end of the range (default: now)')
    .option('--step <duration>', 'time between two points of the range (default: what suits its length)')
    .addOption(outputOption('how to show it (default: table; graph for a range on a terminal)', formats))
    .option('--limit <number>', 'most series to show, 0 for all (default: 1000 for table and graph, else all)')
    .option('--timeout <duration>', 'how long it may take', '30s')
    .option('--partial-response <boolean>', 'false: an answer that lacks a node is an error', 'true')
    .option('--explain', 'tell how the query was spread over the nodes', false)
    .option('--stats', 'tell how long it took and what it read', false)
    .option('--no-headers', 'leave out the headings of table and csv')
    .addHelpText('after', examples)
    .action(run((session, expression: string | undefined, flags: Flags) => query(session, expression, flags)));
};

const examples = `
Times are RFC 3339, seconds since 1970, or a duration before now (5m).

Examples:
  # requests per second of each service, now
  kubectl svc query 'sum by (service_name) (rate(http_server_request_duration_count[1m]))'

  # the last hour as a graph; as CSV when it is not for reading
  kubectl svc query --since 1h 'sum(rate(http_server_request_duration_count[5m]))'
  kubectl svc query --since 1h --step 1m -o csv 'svc_agent_up' > up.csv

  # fail rather than answer without a node
  kubectl svc query --partial-response=false 'sum(svc_agent_up)'

  # an expression that begins with a dash comes behind two of them
  kubectl svc query -- '-1'`;

async function query(session: Session, argument: string | undefined, flags: Flags): Promise<void> {
  const expression = await expressionOf(session, argument, flags.file);
  const now = session.clock.now();
  const range = rangeOf(flags, now, graphPoints(session));
  const format = (flags.output as Format | undefined) ?? (range && session.stdout.isTerminal ? 'graph' : 'table');
  if (format === 'graph' && !range) throw new PluginError('ERR_INPUT_INVALID', '-o graph needs a range: --since 1h');
  const timeoutMs = durationFlag(flags.timeout, '--timeout');
  const reading = format === 'table' || format === 'graph';
  const params = {
    query: expression,
    ...(range
      ? { start: apiTime(range.start), end: apiTime(range.end), step: apiTime(range.stepMs) }
      : { time: flags.time === undefined ? undefined : apiTime(timeFlag(flags.time, '--time', now)) }),
    timeout: `${timeoutMs}ms`,
    limit: flags.limit ?? (reading ? '1000' : undefined),
    explain: flags.explain ? '1' : undefined,
    stats: flags.stats ? 'true' : undefined,
    partial_response: flags.partialResponse,
  };
  const answer = await ask(session, range ? '/api/v1/query_range' : '/api/v1/query', params, timeoutMs);
  await writeInPieces(session, shown(session, answer, format, range, flags));
  if (format !== 'json') for (const line of detailLines(answer)) session.stderr.write(`${printable(line)}\n`);
  tellCaveats(session, answer);
  if (reading && Array.isArray(answer.data.result) && answer.data.result.length === 0)
    session.stderr.write('no series match\n');
}

/** Number of points of a graph: as many as the terminal has columns, but 60 to 250. */
const graphPoints = ({ stdout }: Session): number => Math.max(60, Math.min(250, stdout.columns));

/** Sends the query. The server ends it after `timeoutMs`; the deadline here is a second later, for the network. */
async function ask(
  session: Session,
  path: string,
  params: Record<string, string | undefined>,
  timeoutMs: number,
): Promise<ApiAnswer<QueryData>> {
  try {
    const server = await session.connect();
    return await askApi<QueryData>(server, path, params, { signal: session.signal, deadlineMs: timeoutMs + 1_000 });
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    const marked = underlined(params['query'] ?? '', error.message) ?? [];
    throw new PluginError(error.code, error.message, { hints: [...marked, ...error.hints], cause: error });
  }
}

/** Length of what is written at once, but for a text that is longer itself. */
const pieceLength = 65_536;

/** Writes texts no faster than they are read: all of them together may be longer than a string can be. */
async function writeInPieces({ stdout, signal }: Session, texts: Iterable<string>): Promise<void> {
  let piece = '';
  for (const text of texts) {
    piece += text;
    if (piece.length < pieceLength) continue;
    stdout.write(piece);
    piece = '';
    await stdout.drained();
    signal.throwIfAborted();
  }
  stdout.write(piece);
}

/** The answer in a format, as texts to write one after the other. */
function shown(
  session: Session,
  answer: ApiAnswer<QueryData>,
  format: Format,
  range: Range | undefined,
  { headers }: Flags,
): Iterable<string> {
  const { data } = answer;
  if (format === 'json') return [`${answer.text.trimEnd()}\n`];
  if (format === 'csv') return csvText(data, { headers });
  if (format === 'promtool') return promtoolText(data);
  if (format === 'graph' && range && data.resultType === 'matrix') return [drawn(session, data.result, range)];
  return tableText(data, { headers });
}

interface Explained {
  path: string;
  fallbacks: { from: string; to: string; node: string | null; reason: string }[];
  plan: string[];
  fragments: { nodes: { node?: string; elapsedMs?: number }[] }[];
}

interface Stats {
  timings?: Record<string, number>;
  samples?: Record<string, number>;
}

/** The text that `--explain` and `--stats` add to an answer. Pure. */
function detailLines({ explain, data }: ApiAnswer): string[] {
  const { stats } = data as { stats?: Stats };
  return [...(explain === undefined ? [] : explainLines(explain as Explained)), ...(stats ? statsLines(stats) : [])];
}

function explainLines({ path, fallbacks, plan, fragments }: Explained): string[] {
  const nodes = new Map<string, number>();
  for (const { node = '?', elapsedMs = 0 } of fragments.flatMap((fragment) => fragment.nodes))
    nodes.set(node, Math.max(nodes.get(node) ?? 0, elapsedMs));
  return [
    `executed: ${path}`,
    ...fallbacks.map(
      ({ from, to, node, reason }) => `not ${from} but ${to}: ${node === null ? '' : `${node}: `}${reason}`,
    ),
    ...plan.map((line) => `  ${line}`),
    ...[...nodes].map(([node, ms]) => `  ${node}: ${ms} ms`),
  ];
}

function statsLines({ timings = {}, samples = {} }: Stats): string[] {
  const seconds = Object.entries(timings).map(([name, value]) => `${name} ${(value * 1000).toFixed(1)} ms`);
  const counts = Object.entries(samples).flatMap(([name, value]) =>
    typeof value === 'number' ? [`${name} ${value}`] : [],
  );
  return [...seconds, ...counts].map((line) => `stats: ${line}`);
}

/**
 * The line of an expression that a PromQL error points at, with the position marked below it; undefined when the error
 * has no position. `message` has `line:column` (from 1, in characters), as Prometheus writes it. Pure.
 */
function underlined(expression: string, message: string): string[] | undefined {
  const place = /\b(\d+):(\d+): parse error/.exec(message);
  if (!place) return undefined;
  const line = expression.split('\n')[Number(place[1]) - 1];
  const column = Number(place[2]) - 1;
  if (line === undefined || column > line.length) return undefined;
  const word = /^[\w:.]+/.exec(line.slice(column))?.[0].length ?? 1;
  // Tabs stay tabs, so that the mark is below its character.
  const before = line.slice(0, column).replace(/[^\t]/g, ' ');
  return [line, `${before}^${'~'.repeat(word - 1)}`];
}

const maxBytes = 1024 * 1024;

/**
 * The expression from the argument or the file; `-` for either means the standard input.
 * Errors: UsageError when there is none or more than one, PluginError for a file that cannot be read.
 */
async function expressionOf(
  session: Pick<Session, 'readStdin' | 'flags'>,
  argument: string | undefined,
  file: string | undefined,
): Promise<string> {
  if (session.flags.namespace !== undefined || session.flags.allNamespaces)
    throw new UsageError(
      'a query names its namespaces itself',
      'such as http_server_request_duration_count{k8s_namespace_name="shop"}',
    );
  if (argument !== undefined && file !== undefined) throw new UsageError('an expression and --file exclude each other');
  const source = argument ?? (file === '-' ? '-' : undefined);
  if (source === undefined && file === undefined)
    throw new UsageError(
      "what to ask? kubectl svc query 'sum(svc_agent_up)'",
      'or - to read it from the standard input',
    );
  const stdin = () => session.readStdin(maxBytes, 'divide the expression into several queries');
  const text = source === undefined ? await readExpression(file!) : source === '-' ? await stdin() : source;
  if (text.trim() === '') throw new UsageError('the expression is empty');
  return text;
}

async function readExpression(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > maxBytes) throw new Error(`it has ${size} bytes, ${maxBytes} are taken`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new PluginError('ERR_INPUT_INVALID', `--file ${path}: ${errorText(cause)}`, { cause });
  }
}
