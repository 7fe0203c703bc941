import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const root = join(import.meta.dirname, '..');
const files = execFileSync('git', ['ls-files', 'src', 'ui', 'e2e', 'scripts', 'bench', 'examples'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.tsx?$/.test(file));

/**
 * The relative imports of a file. Type imports count too: they also decide in which order a newcomer reads the code.
 */
function importsOf(file: string, text: string): string[] {
  const specifiers = text.matchAll(/^(?:import|export)\b[^;'"]*?(?:from\s+)?['"](\.[^'"]+)['"]/gm);
  return [...specifiers].map(([, path = '']) => normalize(join(dirname(file), path)));
}

/** A path from a file back to itself, or undefined. Depth first; each file is finished once. */
function circleIn(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const finished = new Set<string>();
  const way: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (finished.has(file)) return undefined;
    way.push(file);
    for (const next of graph.get(file) ?? []) {
      const circle = visit(next);
      if (circle) return circle;
    }
    way.pop();
    finished.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle) return circle;
  }
  return undefined;
}

test('no file imports itself through other files, type imports included', () => {
  const graph = new Map(files.map((file) => [file, importsOf(file, readFileSync(join(root, file), 'utf8'))]));
  expect(graph.size).toBeGreaterThan(900);
  expect([...graph.values()].flat().length).toBeGreaterThan(3_000);
  expect(circleIn(graph)).toBeUndefined();
});

test('a circle is found through imports of values and types, multi-line imports and re-exports', () => {
  const texts: [string, string][] = [
    ['a/one.ts', "import {\n  two,\n} from './two.ts';\n"],
    ['a/two.ts', "export type { Three } from '../b/three.ts';\n"],
    ['b/three.ts', "import type { One } from '../a/one.ts';\n"],
  ];
  const graph = new Map(texts.map(([file, text]) => [file, importsOf(file, text)]));
  expect(circleIn(graph)).toEqual(['a/one.ts', 'a/two.ts', 'b/three.ts', 'a/one.ts']);
  graph.delete('b/three.ts');
  expect(circleIn(graph)).toBeUndefined();
});
