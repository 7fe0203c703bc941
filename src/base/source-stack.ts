import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A position in a bundle, as a frame of a stack names it. */
const places = /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/g;
/** From the text of a position in a bundle to that of its source position. A repeated error reads no map again. */
const known = new Map<string, string>();
const mostKnown = 1_000;

/**
 * The stack of an error for a log. Where a source map lies beside the bundle, positions are those in the sources.
 * `--enable-source-maps` would do this too, but Node then reads every map at the start and keeps it: some 10 MiB and a
 * tenth of the CPU time of the start in each process. Here a map is read when a stack is logged, and not kept.
 * Returns the stack as it is where a map is missing or damaged, and undefined for a value that is not an error.
 */
export function sourceStack(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.stack === undefined) return undefined;
  const { message, stack } = error;
  // The message may quote what a caller sent, and a path in it must not make this process read files.
  const start = stack.indexOf(message);
  const frames = start < 0 ? 0 : start + message.length;
  if (known.size > mostKnown) known.clear();
  const maps = new Map<string, SourceMap | undefined>();
  const located = stack.slice(frames).replaceAll(places, (text, file: string, line: string, column: string) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (!maps.has(file)) maps.set(file, mapOf(file));
    const source = sourceOf(maps.get(file), file, Number(line), Number(column)) ?? text;
    known.set(text, source);
    return source;
  });
  return stack.slice(0, frames) + located;
}

/** The position in the source, or undefined where the map has none for the line. */
function sourceOf(map: SourceMap | undefined, file: string, line: number, column: number): string | undefined {
  // A stack counts from 1, a map from 0. For a line without an entry, `findEntry` returns the last one before it.
  const entry = map?.findEntry(line - 1, column - 1);
  if (entry === undefined || !('originalSource' in entry) || entry.generatedLine !== line - 1) return undefined;
  if (!URL.canParse(entry.originalSource, file)) return undefined;
  return `${new URL(entry.originalSource, file).href}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

/** The source map beside a bundle; undefined when it is missing or damaged. */
function mapOf(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, 'utf8')) as SourceMapPayload);
  } catch {
    return undefined;
  }
}
