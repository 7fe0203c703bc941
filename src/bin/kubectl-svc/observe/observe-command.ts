import { Option } from 'commander';
import { sleep } from '../../../base/clock.ts';
import { errorText, isOperatorError } from '../../../base/errors.ts';
import {
  LineSplitter,
  parseMessage,
  lossReason,
  resumeOverlapMs,
  SeenItems,
  type StreamMessage,
  type StreamRequest,
} from '../../../stream/index.ts';
import type { Register } from '../command.ts';
import { RefusedError } from '../connect/failures.ts';
import type { QueryServer, QueryStream } from '../connect/query-server.ts';
import { PluginError } from '../errors.ts';
import { chosen, outputOption } from '../output/print.ts';
import { printable } from '../output/table.ts';
import type { Session } from '../session.ts';
import { checkNots, filterFlags, FilterLine } from './filter-flags.ts';
import { type ObserveFormat, observeFormats, writerOf } from './formats.ts';
import { allSince, laterRequest, observeRequest, type SpanFlags } from './observe-request.ts';

/** The text for a message that is not an item, and whether it is a warning; undefined for an item. Pure. */
function noteOf({
  node,
  lost,
  node_status: status,
}: StreamMessage): { readonly text: string; readonly isWarning: boolean } | undefined {
  if (lost) {
    const items = lost.count === 1 ? '1 item' : `${lost.count} items`;
    const where = lost.source === 'relay' ? '' : ` of node ${printable(node)}`;
    return { text: `lost ${items}${where}: ${printable(lossReason(lost.source))}`, isWarning: true };
  }
  if (!status) return undefined;
  const nodes =
    status.nodes.length === 1 ? `node ${status.nodes[0]}` : `${status.nodes.length} nodes (${status.nodes.join(', ')})`;
  const who = printable(status.nodes.length === 0 ? node : nodes);
  if (status.state === 'NODE_CONNECTED') return { text: `connected to ${who}`, isWarning: false };
  const what = status.state === 'NODE_UNAVAILABLE' ? 'unavailable' : 'failing';
  return { text: `${who}: ${what}${status.message ? `: ${printable(status.message)}` : ''}`, isWarning: true };
}

interface Flags extends SpanFlags {
  output: ObserveFormat;
  headers: boolean;
}

const types = ['span', 'flow'];
const firstDelayMs = 500;
const longestDelayMs = 10_000;

/** `kubectl svc observe`: spans and flows of all nodes, in order of time. */
export const registerObserve: Register = (command, run) => {
  const line = new FilterLine();
  command
    .option('-f, --follow', 'keep printing new items until Ctrl-C', false)
    .option('--last <number>', 'newest past items, or all (default: 20; all with --since or --until; 0 with --follow)')
    .option('--first <number>', 'oldest past items instead')
    .option('--since <time>', 'only what began then or later')
    .option('--until <time>', 'only what began then or before')
    .addOption(
      new Option('-t, --type <type>', 'what to show (default: both)')
        .choices(types)
        .argParser((text: string, before: string[] | undefined) => [...(before ?? []), chosen('--type', text, types)]),
    )
    .addOption(outputOption('how to show them', observeFormats).default('compact'))
    .option('--no-headers', 'leave out the headings of table')
    .optionsGroup('Filters (several of one kind: any of them; of different kinds: all of them):')
    .option('--not', 'leave out the matches of the filter that follows');
  command.on('option:not', () => line.not());
  for (const { flags, field, help } of filterFlags) {
    const leavesOut = flags.startsWith('--not-');
    const take = (value: string): string => {
      if (leavesOut) line.leaveOut(field, value);
      else line.add(field, value);
      return value;
    };
    command.option(flags, help, take);
  }
  command.addHelpText('after', examples).action(run((session, flags: Flags) => observe(session, flags, line)));
};

const examples = `
Times are RFC 3339, seconds since 1970, or a duration before now (5m). Items of the context's namespace are shown;
-n names another, and -A shows all. Pods and workloads that are given with their namespaces are looked for there.
A flow matches if one of its ends does. Missing nodes and lost items are reported on stderr.

Examples:
  # what fails now, in all namespaces
  kubectl svc observe -f -A --status 5+

  # slow requests of one workload in the last ten minutes, but not the probes
  kubectl svc observe --workload deployment/checkout --min-duration 500ms --since 10m --not --path /healthz

  # who talks to redis
  kubectl svc observe -f -n shop --type flow --port 6379

  # one trace, with all that is known of its spans
  kubectl svc observe -A --trace-id 0af7651916cd43dd8448eb211c80319c --last all -o dict`;

async function observe(session: Session, flags: Flags, line: FilterLine): Promise<void> {
  checkNots(session.words);
  const { flags: common } = session;
  const anywhere = line.namesNamespaces && common.namespace === undefined;
  const namespace = anywhere ? undefined : await session.namespace();
  const request = observeRequest(flags, line.within(namespace), session.clock.now());
  const show = shower(session, flags);
  if (flags.follow) return follow(session, request, show);
  await read(session, await session.connect(), request, show);
  session.signal.throwIfAborted();
}

/** Receives each message, with its original line. */
type Show = (message: StreamMessage, line: string) => void;

/** Writes items to stdout and all other messages to stderr. */
function shower(session: Session, { output, headers }: Flags): Show {
  const write = writerOf(output, session.style, headers);
  return (message, line) => {
    const note = noteOf(message);
    if (note?.isWarning) session.warn(note.text);
    else if (note) session.stderr.write(`${note.text}\n`);
    if (!note || output === 'jsonpb') session.stdout.write(write(message, line));
  };
}

/**
 * Follows until Ctrl-C. A broken connection is opened again, and the stream continues at the newest item that was shown;
 * past items come in order of time, so those that are missing are later. Before the first item it continues where it
 * began, or asks for the same past again while that is not complete. Times are the cluster's, because the clock here may
 * differ from it. A refusal is retried only if it is temporary.
 * Errors: those of the first connection, and refusals.
 */
async function follow(session: Session, request: StreamRequest, show: Show): Promise<void> {
  const { clock, signal } = session;
  const seen = new SeenItems();
  // Nodes are connected once the past is read.
  let isPastComplete = request.number === 0;
  const showNew: Show = (message, line) => {
    isPastComplete ||= message.node_status?.state === 'NODE_CONNECTED';
    if (!(message.span || message.flow) || seen.add(message)) show(message, line);
  };
  let opened: { readonly mono: number; readonly wall: number; readonly cluster: number } | undefined;
  let delay = firstDelayMs;
  const onOpen = ({ date = '' }: QueryStream['headers']): void => {
    const wall = clock.now();
    opened ??= { mono: clock.monotonic(), wall, cluster: Date.parse(date) || wall };
    delay = firstDelayMs;
  };
  const resuming = ({ mono, wall, cluster }: NonNullable<typeof opened>): StreamRequest => {
    // The monotonic clock may stand still while the machine is suspended, and the wall clock may be set back.
    const elapsedMs = Math.ceil(Math.max(clock.monotonic() - mono, clock.now() - wall));
    const since = seen.since(cluster + elapsedMs) ?? (isPastComplete ? `${elapsedMs + resumeOverlapMs}ms` : undefined);
    return since === undefined ? laterRequest(request, elapsedMs) : allSince(request, since);
  };
  while (!signal.aborted) {
    try {
      const server = await (opened === undefined ? session.connect() : session.reconnect());
      const asked = opened === undefined ? request : resuming(opened);
      await read(session, server, asked, showNew, onOpen);
      if (!signal.aborted) session.warn('the query server ended the stream; trying again');
    } catch (error) {
      if (signal.aborted) break;
      if (opened === undefined || isFinal(error)) throw error;
      session.warn(`${errorText(error)}; trying again`);
    }
    await sleep(clock, delay, signal).catch(() => {});
    delay = Math.min(2 * delay, longestDelayMs);
  }
  session.endWatch();
}

/** Statuses of temporary refusals: request timeout, and too many requests. */
const passing: readonly number[] = [408, 429];

/** A refusal that the next attempt would get too. */
function isFinal(error: unknown): boolean {
  if (error instanceof RefusedError)
    return error.status >= 400 && error.status < 500 && !passing.includes(error.status);
  return isOperatorError(error, 'ERR_API_FORBIDDEN');
}

/** Reads a stream to its end. Errors: those of `QueryServer`; PluginError for an answer that is not a stream. */
async function read(
  session: Session,
  server: QueryServer,
  request: StreamRequest,
  show: Show,
  onOpen: (headers: QueryStream['headers']) => void = () => {},
): Promise<void> {
  const { body, headers } = await server.stream({
    method: 'POST',
    path: '/v1/stream',
    body: JSON.stringify(request),
    headers: { 'content-type': 'application/json' },
    signal: session.signal,
  });
  onOpen(headers);
  const lines = new LineSplitter();
  try {
    for await (const chunk of body) {
      for (const text of lines.take(chunk)) show(parseMessage(text), text);
      // Items that a slow reader leaves would fill the memory here. The query server limits them, and tells what it drops.
      await session.stdout.drained();
    }
    if (!session.signal.aborted) lines.end();
  } catch (error) {
    if (!isOperatorError(error, 'ERR_INPUT_INVALID') && !isOperatorError(error, 'ERR_TOO_LARGE')) throw error;
    throw new PluginError('ERR_API_REQUEST', `${server.target}: ${error.message}`, { cause: error });
  }
}
