import { dirname, join, normalize, relative } from 'node:path';
import ts from 'typescript';
import { root } from '../build/bundle.ts';

/** The entry points of the package: import path after the package's name → source. */
export const entries = {
  runtime: 'src/package/runtime.ts',
  testing: 'src/package/testing.ts',
  schema: 'src/package/schema.ts',
  promql: 'src/package/promql.ts',
  tsdb: 'src/package/tsdb.ts',
} as const;
export type Entry = keyof typeof entries;
export const entryNames = Object.keys(entries) as Entry[];

/** The file of an entry's types, below the folder of all types. */
export const typesOf = (entry: Entry): string => `package/${entry}.d.ts`;

/**
 * The type declarations of every entry, and of all files that they mention: path below `types/` → text. Imports name
 * `.js` files, as TypeScript expects of a published package.
 * Errors: throws the compiler's message if a declaration cannot be emitted.
 */
export function emitTypes(): Map<string, string> {
  const sources = join(root, 'src');
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, { ...ts.sys, readDirectory: () => [] }, root);
  const program = ts.createProgram(
    entryNames.map((entry) => join(root, entries[entry])),
    {
      ...options,
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      // The type checker has its own run over these sources.
      noCheck: true,
      stripInternal: true,
      types: ['node'],
      rootDir: sources,
      outDir: sources,
    },
  );
  const all = new Map<string, string>();
  const { diagnostics } = program.emit(undefined, (path, text) => {
    all.set(relative(sources, path), withJs(text));
  });
  if (diagnostics.length > 0) {
    throw new Error(ts.formatDiagnostics(diagnostics, { ...formatHost, getCurrentDirectory: () => root }));
  }
  return reachable(all);
}

const formatHost = { getCanonicalFileName: (name: string) => name, getNewLine: () => '\n' };

/** The text with `./x.js` for each import of `./x.ts`. Comments stay as they are. */
function withJs(text: string): string {
  let result = text;
  for (const { fileName, pos } of importsOf(text).toReversed()) {
    const end = text.indexOf(fileName, pos) + fileName.length;
    if (/^\..*\.ts$/.test(fileName)) result = `${result.slice(0, end - 3)}.js${result.slice(end)}`;
  }
  return result;
}

function importsOf(text: string): ts.FileReference[] {
  return ts.preProcessFile(text).importedFiles.toSorted((a, b) => a.pos - b.pos);
}

/** The files that the entries mention directly or indirectly, sorted by path. */
function reachable(all: ReadonlyMap<string, string>): Map<string, string> {
  const found = new Set<string>();
  const waiting: string[] = entryNames.map(typesOf);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    const text = all.get(path);
    if (text === undefined) throw new Error(`${path}: a declaration mentions it, and the compiler did not write it`);
    found.add(path);
    for (const { fileName } of importsOf(text)) {
      if (fileName.startsWith('.')) waiting.push(normalize(join(dirname(path), fileName.replace(/\.js$/, '.d.ts'))));
    }
  }
  return new Map([...found].toSorted().map((path) => [path, all.get(path)!]));
}

/** The packages whose types the declarations mention. Pure. */
export function packagesMentioned(types: ReadonlyMap<string, string>): string[] {
  const names = [...types.values()].flatMap(importsOf).map(({ fileName }) => fileName);
  return [...new Set(names.flatMap((name) => /^(?!node:)(?:@[^/]+\/)?[^./][^/]*/.exec(name)?.[0] ?? []))].toSorted();
}
