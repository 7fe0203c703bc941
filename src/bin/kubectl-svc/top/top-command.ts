import { Argument, Option } from 'commander';
import type { Register } from '../command.ts';
import { askApi, lacking, type ApiAnswer } from '../connect/prometheus.ts';
import { UsageError } from '../errors.ts';
import { json, outputFormat } from '../output/print.ts';
import { durationFlag } from '../query/times.ts';
import type { VectorSample } from '../query/result.ts';
import type { Session } from '../session.ts';
import { topKinds, type TopKind } from './kinds.ts';
import { rowsOf, sorted, sortKeys, type SortKey, type TopRow } from './rows.ts';
import { selectedNames } from './selected.ts';
import { showsNetwork, topQuery, type TopScope } from './top-query.ts';
import { topTable } from './top-table.ts';
import { watch } from './watch.ts';

const formats = ['table', 'wide', 'json'] as const;

interface Flags {
  window: string;
  sortBy: SortKey;
  selector?: string;
  limit: string;
  watch: boolean;
  interval: string;
  output: (typeof formats)[number];
  headers: boolean;
}

/** `kubectl svc top`: who serves how many requests, how well. */
export const registerTop: Register = (command, run) => {
  command
    .addArgument(
      new Argument('[kind]', 'what to list')
        .choices(topKinds.map(({ name }) => name))
        .default('workloads')
        .argParser(kindNamed),
    )
    .option('--window <duration>', 'time that rates and quantiles are taken over', '5m')
    .addOption(new Option('--sort-by <key>', 'largest first').choices(Object.keys(sortKeys)).default('rps'))
    .option('-l, --selector <labels>', 'only pods with these labels; of nodes and namespaces, those themselves')
    .option('--limit <number>', 'most rows to show, 0 for all', '0')
    .option('-w, --watch', 'show it anew until Ctrl-C', false)
    .option('--interval <duration>', 'time between two looks of --watch', '5s')
    .addOption(
      new Option('-o, --output <format>', 'wide adds the bytes of the network')
        .argParser((text: string) => outputFormat(text, formats))
        .default('table'),
    )
    .option('--no-headers', 'leave out the headings')
    .addHelpText('after', examples)
    .action(run((session, kind: TopKind | string, flags: Flags) => top(session, kindNamed(kind), flags)));
};

const examples = `
A dash is a figure without a number: no request in the window. IN and OUT are the bodies of requests and responses.

Examples:
  # the busiest workloads of the context's namespace; of all namespaces, the worst first
  kubectl svc top
  kubectl svc top -A --sort-by errors

  # pods of one app, again every five seconds
  kubectl svc top pods -n shop -l app=catalog --watch`;

/** Errors: UsageError that lists the kinds. */
function kindNamed(text: TopKind | string): TopKind {
  if (typeof text !== 'string') return text;
  const found = topKinds.find(({ name, aliases }) => name === text || aliases.includes(text));
  if (!found) throw new UsageError(`${JSON.stringify(text)} is none of ${topKinds.map(({ name }) => name).join(', ')}`);
  return found;
}

/** What one look at the cluster showed. */
interface Look {
  readonly scope: TopScope;
  readonly rows: readonly TopRow[];
  readonly answer: Omit<ApiAnswer, 'data' | 'text'>;
}

const nothingAsked: Look['answer'] = { warnings: [], infos: [], degraded: false, missingNodes: [], explain: undefined };

async function top(session: Session, kind: TopKind, flags: Flags): Promise<void> {
  const windowMs = durationFlag(flags.window, '--window');
  const intervalMs = durationFlag(flags.interval, '--interval');
  const limit = Number(flags.limit);
  if (!Number.isInteger(limit) || limit < 0) throw new UsageError(`--limit ${flags.limit}: a whole number is needed`);
  const namespace = kind.namespaced ? await session.namespace() : undefined;
  const look = async (): Promise<Look> => {
    const { selector } = flags;
    const names = selector === undefined ? undefined : await selectedNames(session, kind, namespace, selector);
    const scope: TopScope = { kind, namespace, names, windowMs, wide: flags.output !== 'table' };
    if (names?.length === 0) return { scope, rows: [], answer: nothingAsked };
    const server = await session.connect();
    const params = { query: topQuery(scope) };
    const answer = await askApi<{ result: VectorSample[] }>(server, '/api/v1/query', params, {
      signal: session.signal,
    });
    const rows = sorted(rowsOf(kind, answer.data.result), flags.sortBy);
    return { scope, answer, rows: limit === 0 ? rows : rows.slice(0, limit) };
  };
  if (flags.watch) {
    return watch(session, intervalMs, async () => {
      const seen = await look();
      return { text: shown(session, seen, flags), notes: notes(seen).map((note) => `warning: ${note}`) };
    });
  }
  const seen = await look();
  session.stdout.write(shown(session, seen, flags));
  for (const note of notes(seen)) session.warn(note);
  if (seen.rows.length === 0 && flags.output !== 'json') session.stderr.write(`${nothing(seen, flags)}\n`);
}

function shown(session: Session, { scope, rows, answer }: Look, flags: Flags): string {
  if (flags.output === 'json') {
    const { degraded, missingNodes, warnings } = answer;
    return json({
      kind: scope.kind.name,
      windowSeconds: scope.windowMs / 1000,
      items: rows,
      degraded,
      missingNodes,
      warnings,
    });
  }
  if (rows.length === 0) return '';
  return topTable(rows, {
    namespaces: scope.kind.namespaced && scope.namespace === undefined,
    network: showsNetwork(scope),
    headers: flags.headers,
    style: session.style,
  });
}

/** What one has to know of the numbers. */
function notes({ answer: { warnings, degraded, missingNodes } }: Look): string[] {
  return [...warnings, ...(degraded ? [lacking(missingNodes)] : [])];
}

function nothing({ scope: { kind, namespace } }: Look, { selector, window }: Flags): string {
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const which = selector === undefined ? '' : ` with labels ${selector}`;
  const hint = namespace === undefined ? 'kubectl svc status' : '-A looks at all namespaces';
  return `no ${kind.name}${which} served a request${where} in the last ${window} (${hint})`;
}
