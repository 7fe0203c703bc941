import { RE2JS } from 're2js';
import { parseDurationLiteral, unquote } from '../../promql/index.ts';
import type { Labels } from '../../promql/index.ts';
import { parseMetric, parseSeriesLine, type SequenceValue } from './series-description.ts';
import { parseStartTimes } from './start-times.ts';

/** Whether the text of an annotation or error is as expected. */
export type TextCheck = (text: string) => boolean;

/** `load`: series with a point every `gapMs` from time 0 on. */
export interface LoadCommand {
  readonly kind: 'load';
  readonly line: number;
  readonly gapMs: number;
  /** Also add histograms with custom buckets made from the classic ones. */
  readonly withCustomHistograms: boolean;
  readonly series: {
    readonly labels: Labels;
    readonly values: readonly SequenceValue[];
    /** For each value, the offset of its counter's start, in ms (negative: before the sample); null: unknown. */
    readonly startOffsets: readonly (number | null)[] | null;
  }[];
}

/** One expected series of an evaluation. A list of them has the order of the script. */
export interface ExpectedSeries {
  readonly labels: Labels;
  readonly values: readonly SequenceValue[];
}

/** `eval`: a query and its expected result. Times in milliseconds. */
export interface EvalCommand {
  readonly kind: 'eval';
  readonly line: number;
  readonly query: string;
  readonly isRange: boolean;
  readonly start: number;
  readonly end: number;
  readonly step: number;
  /** The bounds of `expect range vector`, which replace start, end and step when the result is checked. */
  expectRange: { readonly start: number; readonly end: number; readonly step: number } | null;
  ordered: boolean;
  fail: TextCheck | null;
  warn: TextCheck[];
  info: TextCheck[];
  noWarn: boolean;
  noInfo: boolean;
  /** `eval_warn` and `eval_info`, an older spelling: expects at least one annotation, with any text. */
  someWarn: boolean;
  someInfo: boolean;
  expectedString: string | null;
  expectedScalar: number | null;
  readonly expected: ExpectedSeries[];
}

export type TestCommand = { readonly kind: 'clear' } | LoadCommand | EvalCommand;

const instantPattern = /^eval(?:_(fail|warn|ordered|info))?\s+instant\s+(?:at\s+(\S+))?\s+(.+)$/;
const rangePattern = /^eval(?:_(fail|warn|info))?\s+range\s+from\s+(.+)\s+to\s+(.+)\s+step\s+(.+?)\s+(.+)$/;
const expectPattern = /^expect\s+(ordered|fail|warn|no_warn|info|no_info)(?:\s+(regex|msg):(.+))?$/;
const expectRangePattern = /^expect range vector\s+from\s+(.+)\s+to\s+(.+)\s+step\s+(.+)$/;

const anything: TextCheck = () => true;

/** Parses a script of Prometheus' test language. Errors: throws an Error that begins with `line N:`. */
export function parseTestScript(text: string): TestCommand[] {
  const lines = text.split('\n').map((line) => (line.trim().startsWith('#') ? '' : line.trim()));
  const commands: TestCommand[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    if (line === '') continue;
    const block: string[] = [];
    const first = i;
    if (line !== 'clear') while (i + 1 < lines.length && lines[i + 1] !== '') block.push(lines[++i]!);
    try {
      if (line === 'clear') commands.push({ kind: 'clear' });
      else if (line.startsWith('load')) commands.push(parseLoad(line, block, first + 1));
      else if (line.startsWith('eval')) {
        const { command, used } = parseEval(line, block, first + 1);
        commands.push(command);
        i = first + used;
      } else throw new Error(`unknown command ${JSON.stringify(line)}`);
    } catch (error) {
      throw new Error(`line ${first + 1}: ${(error as Error).message}`, { cause: error });
    }
  }
  return commands;
}

function duration(text: string): number {
  return text === '0' ? 0 : parseDurationLiteral(text);
}

function parseLoad(line: string, block: readonly string[], number: number): LoadCommand {
  const match = /^load(?:_(with_nhcb))?\s+(.+?)$/.exec(line);
  if (match === null) throw new Error(`cannot read ${JSON.stringify(line)}`);
  const series: LoadCommand['series'] = [];
  let startOffsets: (number | null)[] | null = null;
  for (const definition of block) {
    const start = /^(\S+)@st\s+(.+)$/.exec(definition);
    if (start !== null) {
      parseMetric(start[1]!);
      startOffsets = parseStartTimes(start[2]!);
      continue;
    }
    series.push({ ...parseSeriesLine(definition), startOffsets });
    startOffsets = null;
  }
  return {
    kind: 'load',
    line: number,
    gapMs: duration(match[2]!),
    withCustomHistograms: match[1] !== undefined,
    series,
  };
}

function parseEval(line: string, block: readonly string[], number: number): { command: EvalCommand; used: number } {
  const command = newEval(line, number);
  let used = 0;
  for (const definition of block) {
    used++;
    if (!readExpectation(command, definition)) return { command, used };
  }
  return { command, used };
}

function newEval(line: string, number: number): EvalCommand {
  const instant = instantPattern.exec(line);
  const range = instant === null ? rangePattern.exec(line) : null;
  if (instant === null && range === null) throw new Error(`cannot read ${JSON.stringify(line)}`);
  const mode = (instant ?? range!)[1];
  const at = instant === null ? 0 : duration(instant[2] ?? '0');
  return {
    kind: 'eval',
    line: number,
    query: instant === null ? range![5]! : instant[3]!,
    isRange: instant === null,
    start: instant === null ? duration(range![2]!) : at,
    end: instant === null ? duration(range![3]!) : at,
    step: instant === null ? duration(range![4]!) : 0,
    expectRange: null,
    ordered: mode === 'ordered',
    fail: mode === 'fail' ? anything : null,
    warn: [],
    info: [],
    noWarn: false,
    noInfo: false,
    someWarn: mode === 'warn',
    someInfo: mode === 'info',
    expectedString: null,
    expectedScalar: null,
    expected: [],
  };
}

/** Reads one line below an eval. Returns false if the line ends the eval. */
function readExpectation(command: EvalCommand, line: string): boolean {
  const failMessage = /^expected_fail_(message|regexp)\s+(.+)$/.exec(line);
  if (failMessage !== null) {
    command.fail = textCheck(failMessage[1] === 'message' ? 'msg' : 'regex', failMessage[2]!);
    return false;
  }
  const range = expectRangePattern.exec(line);
  if (range !== null) {
    const [start, end, step] = range.slice(1).map((text) => duration(text)) as [number, number, number];
    command.expectRange = { start, end, step };
    return true;
  }
  if (line.startsWith('expect string ')) {
    command.expectedString = unquote(line.slice('expect string '.length));
    return true;
  }
  if (line.split(' ')[0] === 'expect') {
    readExpect(command, line);
    return true;
  }
  if (/^[+-]?(?:[0-9.]+(?:e[+-]?\d+)?|inf|nan)$/i.test(line)) {
    const plain = line.toLowerCase();
    command.expectedScalar = plain.endsWith('inf') ? (plain.startsWith('-') ? -Infinity : Infinity) : Number(line);
    return false;
  }
  (command.expected as ExpectedSeries[]).push(parseSeriesLine(line));
  return true;
}

function readExpect(command: EvalCommand, line: string): void {
  const match = expectPattern.exec(line);
  if (match === null) throw new Error(`cannot read ${JSON.stringify(line)}`);
  const check = match[2] === undefined ? anything : textCheck(match[2] as 'msg' | 'regex', match[3]!);
  switch (match[1]) {
    case 'ordered':
      command.ordered = true;
      return;
    case 'fail':
      command.fail = check;
      return;
    case 'warn':
      command.warn.push(check);
      return;
    case 'info':
      command.info.push(check);
      return;
    case 'no_warn':
      command.noWarn = true;
      return;
    default:
      command.noInfo = true;
  }
}

function textCheck(kind: 'msg' | 'regex', text: string): TextCheck {
  const trimmed = text.trim();
  if (kind === 'msg') return (actual) => actual === trimmed;
  const pattern = RE2JS.compile(trimmed);
  return (actual) => pattern.matcher(actual).find();
}
