import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
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
  const map = mapOf(file);
  for (const { line, column } of wanted) {
    const text = `${file}:${line}:${column}`;
    // A stack counts from 1, a map from 0. Without an entry of the line, the last one before it is found.
    const entry = map?.findEntry(line - 1, column - 1);
    const isMapped =
      entry !== undefined &&
      'originalSource' in entry &&
      entry.generatedLine === line - 1 &&
      URL.canParse(entry.originalSource, file);
    const source = isMapped ? new URL(entry.originalSource, file).href : '';
    known.set(text, isMapped ? `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}` : text);
  }
}

/** Undefined where no map lies beside the bundle, or a damaged one: the bundle's own positions are the best there is. */
function mapOf(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, 'utf8')) as SourceMapPayload);
  } catch {
    return undefined;
  }
}
