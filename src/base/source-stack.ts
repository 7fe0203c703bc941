import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A position in a bundle, as a stack names it. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const places = /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/g;
/** Positions that were looked up, by their text. An error that comes again costs no further look at a map. */
const known = new Map<string, string>();
const mostKnown = 1_000;

/**
 * The stack of an error for a log, with the positions in the sources where a map lies beside the bundle.
 * `--enable-source-maps` would do this too, but Node then reads every map at the start and keeps it: some 10 MiB and a
 * tenth of the CPU time of the start in each process. Here a map is read when a stack is logged, and not kept.
 * Returns undefined for what is no error; the stack as it is where a map is missing or damaged.
 */
export function sourceStack(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.stack === undefined) return undefined;
  const { stack } = error;
  const unknown = new Map<string, Place[]>();
  for (const [text, file = '', line, column] of stack.matchAll(places)) {
    if (known.has(text)) continue;
    const of = unknown.get(file) ?? [];
    unknown.set(file, [...of, { file, line: Number(line), column: Number(column) }]);
  }
  if (known.size > mostKnown) known.clear();
  for (const [file, wanted] of unknown) noteSources(file, wanted);
  return stack.replaceAll(places, (text) => known.get(text) ?? text);
}

function noteSources(file: string, wanted: readonly Place[]): void {
  let map: { readonly mappings?: unknown; readonly sources?: unknown } = {};
  try {
    map = JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, 'utf8')) as typeof map;
  } catch {
    // No map: the bundle's own positions are the best there is.
  }
  const { mappings, sources } = map;
  const found =
    typeof mappings === 'string' && Array.isArray(sources) ? lookUp(mappings, wanted) : wanted.map(() => undefined);
  wanted.forEach(({ line, column }, i) => {
    const text = `${file}:${line}:${column}`;
    const at = found[i];
    const source: unknown = at && (sources as unknown[])[at.source];
    known.set(text, at && typeof source === 'string' ? `${resolved(source, file)}:${at.line}:${at.column}` : text);
  });
}

function resolved(source: string, file: string): string {
  return URL.canParse(source, file) ? new URL(source, file).href : source;
}

interface Original {
  readonly source: number;
  readonly line: number;
  readonly column: number;
}

const digits = new Map([...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].map((c, i) => [c, i]));

/**
 * The last segment of the `mappings` text (ECMA-426) at or before each place, in one pass that keeps nothing: a parsed
 * map of a bundle takes tens of megabytes. Fields of a segment are VLQ differences: column, source, line, column, name.
 */
function lookUp(mappings: string, wanted: readonly Place[]): (Original | undefined)[] {
  const found: (Original | undefined)[] = wanted.map(() => undefined);
  const lastLine = Math.max(...wanted.map(({ line }) => line));
  const [source, line, column] = [1, 2, 3];
  const state = [0, 0, 0, 0, 0];
  let generated = 1;
  let field = 0;
  let value = 0;
  let shift = 0;
  for (let at = 0; at <= mappings.length && generated <= lastLine; at++) {
    const char = mappings[at] ?? ';';
    if (char === ',' || char === ';') {
      if (field > column) {
        const original = { source: state[source]!, line: state[line]! + 1, column: state[column]! + 1 };
        wanted.forEach((place, i) => {
          if (place.line === generated && state[0]! < place.column) found[i] = original;
        });
      }
      field = 0;
      if (char === ';') {
        generated++;
        state[0] = 0;
      }
      continue;
    }
    const digit = digits.get(char);
    if (digit === undefined) return found;
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    state[field] = (state[field] ?? 0) + (value & 1 ? -(value >>> 1) : value >>> 1);
    field++;
    value = 0;
    shift = 0;
  }
  return found;
}
