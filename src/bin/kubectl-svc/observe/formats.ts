import {
  endsOfSpan,
  endText,
  type FlowRecord,
  operationOf,
  outcomeOf,
  type SpanRecord,
  type StreamMessage,
} from '../../../stream/index.ts';
import type { Styles } from '../output/style.ts';
import { printable, width } from '../output/table.ts';
import { bytesText, durationText, shortTime } from './words.ts';

/** Formats a span or flow for the standard output. `line` is the message as received. */
export type Writer = (message: StreamMessage, line: string) => string;

export const observeFormats = ['compact', 'json', 'jsonpb', 'dict', 'table'] as const;
export type ObserveFormat = (typeof observeFormats)[number];

/**
 * A writer of items in a format. `json` and `jsonpb` write the line as received; for `jsonpb` the caller also passes
 * messages that are not items.
 */
export function writerOf(format: ObserveFormat, style: Styles, headers: boolean): Writer {
  switch (format) {
    case 'compact':
      return (message) => `${compactLine(message, style)}\n`;
    case 'json':
    case 'jsonpb':
      return (_, line) => `${line}\n`;
    case 'dict':
      return dictWriter();
    case 'table':
      return tableWriter(style, headers);
  }
}

/** One line for an item: time, node, source and destination, request, result, duration. Pure. */
export function compactLine(message: StreamMessage, style: Styles): string {
  const { time, node, source, destination, what, outcome, size } = partsOf(message);
  const ends = destination === '' ? source : `${source} → ${destination}`;
  const parts = [style.dim(time), style.cyan(node), ends, what, painted(outcome, style), size];
  return parts.filter((part) => part !== '').join(' ');
}

interface Parts {
  readonly time: string;
  readonly node: string;
  readonly kind: 'span' | 'flow';
  readonly source: string;
  readonly destination: string;
  /** Method and path; protocol and direction for a flow. */
  readonly what: string;
  readonly outcome: string;
  /** Duration; bytes for a flow. */
  readonly size: string;
}

function partsOf({ time, node, span, flow }: StreamMessage): Parts {
  const of = span ? spanParts(span) : flowParts(flow!);
  const texts = Object.entries({ ...of, time: shortTime(time), node }).map(([key, text]) => [key, printable(text)]);
  return { ...(Object.fromEntries(texts) as Omit<Parts, 'kind'>), kind: span ? 'span' : 'flow' };
}

function spanParts(span: SpanRecord): Omit<Parts, 'time' | 'node' | 'kind'> {
  const rest = { what: operationOf(span), outcome: outcomeOf(span), size: durationText(span.durationNs) };
  return { ...endsOfSpan(span), ...rest };
}

function flowParts({
  source,
  destination,
  protocol,
  direction,
  bytes,
}: FlowRecord): Omit<Parts, 'time' | 'node' | 'kind'> {
  const what = [protocol, direction === 'unknown' ? undefined : direction]
    .filter((text) => text !== undefined)
    .join(' ');
  return { source: endText(source), destination: endText(destination), what, outcome: '', size: bytesText(bytes) };
}

/** Success is green, a redirect cyan, a client error yellow, a server error red. */
function painted(outcome: string, { green, cyan, yellow, red }: Styles): string {
  if (outcome === 'error' || /^[56]/.test(outcome)) return red(outcome);
  if (outcome.startsWith('4')) return yellow(outcome);
  return outcome.startsWith('3') ? cyan(outcome) : green(outcome);
}

/** One line for each field of an item, as `kubectl describe` does, with a line between items. */
function dictWriter(): Writer {
  let first = true;
  return (message) => {
    const rule = first ? '' : `${'-'.repeat(12)}\n`;
    first = false;
    const rows = leaves(message.span ?? message.flow ?? {}, message.span ? 'span' : 'flow');
    const all: [string, string][] = [['time', message.time], ['node', message.node], ...rows];
    const widest = Math.max(...all.map(([name]) => width(printable(name))));
    return (
      rule + all.map(([name, value]) => `${`${printable(name)}:`.padEnd(widest + 2)}${printable(value)}\n`).join('')
    );
  };
}

/** Every value inside an object, with its path. */
function leaves(value: unknown, path: string): [string, string][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [[path, typeof value === 'string' ? value : (JSON.stringify(value) ?? '')]];
  }
  return Object.entries(value).flatMap(([key, below]) => leaves(below, `${path}.${key}`));
}

const columns = ['TIME', 'NODE', 'TYPE', 'SOURCE', 'DESTINATION', 'WHAT', 'STATUS', 'SIZE'] as const;

/** Rows as they arrive: a column is as wide as the widest text so far, because later rows are unknown. */
function tableWriter(style: Styles, headers: boolean): Writer {
  const widths = [24, 8, 4, 24, 24, 16, 6, 4];
  const line = (cells: readonly string[], paint: (text: string, column: number) => string): string =>
    `${cells
      .map((text, i) => {
        widths[i] = Math.max(widths[i]!, width(text));
        const space = i === cells.length - 1 ? '' : ' '.repeat(widths[i]! - width(text));
        return paint(text, i) + space;
      })
      .join('   ')}\n`;
  let first = headers;
  return (message) => {
    const { time, node, kind, source, destination, what, outcome, size } = partsOf(message);
    const cells = [time, node, kind, source, destination, what, outcome, size].map((text) => text || '-');
    const head = first ? line(columns, (text) => text) : '';
    first = false;
    return head + line(cells, (text, i) => (i === 6 ? painted(text, style) : text));
  };
}
