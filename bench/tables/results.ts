import type { FigureLine } from '../run/figure.ts';
import type { Spread } from '../run/spread.ts';

/** The first line of a part of a results file: how the part was run. */
export interface RunLine {
  readonly part: string;
  readonly command: string;
  /** RFC 3339, UTC. */
  readonly at: string;
  readonly seconds: number;
  /** The machine's load over the minute before the start: shows whether the machine was idle. */
  readonly load: number;
  readonly machine: string;
}

/** One part of a results file. */
export interface Result {
  readonly run: RunLine;
  readonly figures: readonly FigureLine[];
}

/** The tables that are rendered from the results leave out figures of fewer runs than this. */
export const leastRuns = 5;

/**
 * Reads a file of results: each part is a RunLine followed by its figures, one JSON object a line.
 * An error names the number of the line, the field and what is wrong with the field.
 */
export function readResults(text: string): Result[] {
  const results: { run: RunLine; figures: FigureLine[] }[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      const object = JSON.parse(line) as Record<string, unknown>;
      if ('part' in object) results.push({ run: checkRun(object), figures: [] });
      else if (results.length === 0) throw new Error('a figure stands before the first part');
      else results.at(-1)!.figures.push(checkFigure(object));
    } catch (error) {
      throw new Error(`line ${i + 1}: ${(error as Error).message}`, { cause: error });
    }
  }
  return results;
}

export function writeResults(results: readonly Result[]): string {
  return results
    .flatMap(({ run, figures }) => [run, ...figures])
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}

function checkRun(object: Record<string, unknown>): RunLine {
  for (const field of ['part', 'command', 'at', 'machine']) text(object, field);
  for (const field of ['seconds', 'load']) number(object[field], field);
  return object as unknown as RunLine;
}

/** Errors: a field is missing or of the wrong type, or fields of the line contradict each other. */
export function checkFigure(object: Record<string, unknown>): FigureLine {
  for (const field of ['name', 'unit', 'cores', 'caches']) text(object, field);
  const runs = spread(object['runs'], 'runs');
  const peerRuns = object['peerRuns'] === null ? null : spread(object['peerRuns'], 'peerRuns');
  const ratioRuns = object['ratioRuns'] === null ? null : spread(object['ratioRuns'], 'ratioRuns');
  same(object, 'ours', runs.median);
  same(object, 'peer', peerRuns?.median ?? null);
  same(object, 'ratio', ratioRuns?.median ?? null);
  if (peerRuns !== null && peerRuns.count !== runs.count) throw new Error('runs and peerRuns differ in their count');
  if (ratioRuns !== null && peerRuns === null) throw new Error('ratioRuns has no peerRuns');
  if (object['goal'] === null) same(object, 'met', null);
  else text(object, 'asks');
  return object as unknown as FigureLine;
}

function spread(value: unknown, field: string): Spread {
  const { count, min, median, max } = (value ?? {}) as Record<string, unknown>;
  const [least, middle, most] = [
    number(min, `${field}.min`),
    number(median, `${field}.median`),
    number(max, `${field}.max`),
  ];
  const runs = number(count, `${field}.count`);
  if (least > middle || middle > most) throw new Error(`${field} is not in order: ${least}, ${middle}, ${most}`);
  return { count: runs, min: least, median: middle, max: most };
}

function text(object: Record<string, unknown>, field: string): void {
  if (typeof object[field] !== 'string' || object[field] === '') throw new Error(`${field} is not a text`);
}

function number(value: unknown, field: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`${field} is not a number`);
  return value;
}

function same(object: Record<string, unknown>, field: string, expected: number | null): void {
  if (object[field] !== expected) throw new Error(`${field} is ${String(object[field])}, not ${String(expected)}`);
}
