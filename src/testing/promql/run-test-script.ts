import {
  Engine,
  type EngineOptions,
  type QueryResult,
  type QueryValue,
  type VectorElement,
} from '../../promql/index.ts';
import { atModifierCases } from './at-modifier-cases.ts';
import { compareAnswer } from './compare-answers.ts';
import { customHistograms } from './custom-histograms.ts';
import { MemorySource, type LoadedSample } from './memory-source.ts';
import { withStoredHints } from './stored-hints.ts';
import type { Labels } from '../../promql/index.ts';
import { parseTestScript, type EvalCommand, type LoadCommand, type TextCheck } from './test-script.ts';

/**
 * The settings that Prometheus' test language assumes: everything experimental is on, and metric names are removed at
 * the end of the evaluation.
 */
export const testScriptOptions: EngineOptions = {
  experimentalFunctions: true,
  fillModifiers: true,
  extendedRangeSelectors: true,
  delayedNameRemoval: true,
  startTimestamps: true,
  maxSamples: 10_000,
};

/** The outcome of one eval of a script; `problem` is null if it passed. */
export interface EvalOutcome {
  readonly line: number;
  readonly query: string;
  readonly problem: string | null;
}

/** Runs a script: its loads, its clears, and each eval in all variants that Prometheus' test language demands. */
export async function runTestScript(text: string): Promise<EvalOutcome[]> {
  const engine = new Engine(testScriptOptions);
  const source = new MemorySource();
  const outcomes: EvalOutcome[] = [];
  for (const command of parseTestScript(text)) {
    if (command.kind === 'clear') source.clear();
    else if (command.kind === 'load') load(source, command);
    else {
      const problem = await evaluate(engine, source, command).catch((error: unknown) => `runner: ${String(error)}`);
      outcomes.push({ line: command.line, query: command.query, problem });
    }
  }
  return outcomes;
}

function load(source: MemorySource, command: LoadCommand): void {
  const loaded = command.series.map(({ labels, values, startOffsets }) => {
    const samples: LoadedSample[] = [];
    values.forEach((value, i) => {
      const time = i * command.gapMs;
      const offset = startOffsets?.[i] ?? null;
      const startTime = offset === null ? 0 : time + offset;
      if (value.kind === 'float') samples.push({ time, value: value.value, startTime });
      else if (value.kind === 'stale') samples.push({ time, value: NaN, stale: true });
      else if (value.kind === 'histogram') samples.push({ time, value: NaN, histogram: value.histogram, startTime });
    });
    return { labels, samples };
  });
  const all: { labels: Labels; samples: LoadedSample[] }[] = command.withCustomHistograms
    ? [...loaded, ...customHistograms(loaded)]
    : loaded;
  for (const { labels, samples } of all) source.load(labels, withStoredHints(samples));
}

async function evaluate(engine: Engine, source: MemorySource, command: EvalCommand): Promise<string | null> {
  const { query, start, end, step } = command;
  if (command.isRange) {
    return check(
      command,
      () => engine.range(query, start, end, step, { source }),
      (result) => compareAnswer(command, result.value),
    );
  }
  const at = command.expectRange?.end ?? start;
  const direct = await instantCase(engine, source, command, query, at);
  if (direct !== null) return direct;
  const pinned = atModifierCases(query, at, testScriptOptions);
  if (pinned === null) return null;
  for (const time of pinned.times) {
    const problem = await instantCase(engine, source, command, pinned.query, time);
    if (problem !== null) return `as ${pinned.query} at ${time}: ${problem}`;
  }
  return null;
}

/** Evaluates an instant query, then the same query as the middle step of a range query. */
async function instantCase(
  engine: Engine,
  source: MemorySource,
  command: EvalCommand,
  query: string,
  time: number,
): Promise<string | null> {
  let isScalar = false;
  const direct = await check(
    command,
    () => engine.instant(query, time, { source }),
    (result) => {
      isScalar = result.value.type === 'scalar';
      return compareAnswer(command, result.value);
    },
  );
  const noRange = command.expectRange !== null || command.expectedString !== null || command.ordered;
  if (direct !== null || noRange || command.fail !== null) return direct;
  if (/(start|end|range|step)\(\)/.test(query)) return null;
  try {
    const { value } = await engine.range(query, time - 60_000, time + 60_000, 60_000, { source });
    const problem = compareAnswer(command, middleOf(value, time, isScalar));
    return problem === null ? null : `in range mode: ${problem}`;
  } catch (error) {
    return `in range mode: ${(error as Error).message}`;
  }
}

function middleOf(value: QueryValue, time: number, isScalar: boolean): QueryValue {
  const elements: VectorElement[] = [];
  for (const series of value.type === 'matrix' ? value.series : []) {
    const i = series.timestamps.indexOf(time);
    const held = series.histograms.find(({ timestamp }) => timestamp === time);
    if (i >= 0) elements.push({ labels: series.labels, timestamp: time, value: series.values[i]! });
    else if (held !== undefined) {
      elements.push({ labels: series.labels, timestamp: time, value: NaN, histogram: held.histogram });
    }
  }
  if (isScalar) return { type: 'scalar', timestamp: time, value: elements[0]?.value ?? NaN };
  return { type: 'vector', elements };
}

async function check(
  command: EvalCommand,
  run: () => Promise<QueryResult>,
  compare: (result: QueryResult) => string | null,
): Promise<string | null> {
  let result: QueryResult;
  try {
    result = await run();
  } catch (error) {
    const message = (error as Error).message;
    if (command.fail === null) return `failed: ${message}`;
    return command.fail(message) ? null : `failed in another way: ${message}`;
  }
  if (command.fail !== null) return 'expected to fail';
  return checkAnnotations(command, result) ?? compare(result);
}

function checkAnnotations(command: EvalCommand, { warnings, infos }: QueryResult): string | null {
  if (command.someWarn && warnings.length === 0) return 'expected a warning';
  if (command.someInfo && infos.length === 0) return 'expected an info';
  if (command.noWarn && warnings.length > 0) return `unexpected warnings ${JSON.stringify(warnings)}`;
  if (command.noInfo && infos.length > 0) return `unexpected infos ${JSON.stringify(infos)}`;
  return checkTexts('warning', command.warn, warnings) ?? checkTexts('info', command.info, infos);
}

/** Without checks, accepts any texts. Otherwise every check must match a text, and every text must match a check. */
function checkTexts(kind: string, checks: readonly TextCheck[], texts: readonly string[]): string | null {
  if (checks.length === 0) return null;
  const unmet = checks.findIndex((one) => !texts.some(one));
  if (unmet >= 0) return `expected ${kind} number ${unmet + 1} is missing in ${JSON.stringify(texts)}`;
  const stray = texts.find((text) => !checks.some((one) => one(text)));
  return stray === undefined ? null : `unexpected ${kind} ${JSON.stringify(stray)}`;
}
