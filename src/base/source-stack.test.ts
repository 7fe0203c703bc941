import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { sourceStack } from './source-stack.ts';

const source = `// Two functions.
export function outer(): never {
  return inner('it broke');
}

function inner(text: string): never {
  throw new Error(text);
}
`;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svc-stack-'));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A stack as Node would give it for the bundle. The bundle itself does not run. */
function stackIn(file: string, frames: readonly string[]): Error {
  const error = new Error('it broke');
  error.stack = ['Error: it broke', ...frames.map((place) => `    at fn (${file}:${place})`)].join('\n');
  return error;
}

function bundle(): { file: string; placeOf: (text: string) => string } {
  const { code, map } = transformSync(source, {
    loader: 'ts',
    sourcefile: '../src/broken.ts',
    sourcemap: true,
    minifyWhitespace: true,
  });
  const path = join(dir, 'broken.js');
  writeFileSync(path, code);
  writeFileSync(`${path}.map`, map);
  const lines = code.split('\n');
  const placeOf = (text: string): string => {
    const line = lines.findIndex((one) => one.includes(text));
    return `${line + 1}:${lines[line]!.indexOf(text) + 1}`;
  };
  return { file: pathToFileURL(path).href, placeOf };
}

test('a stack names the sources of a bundle that has a map', () => {
  const { file, placeOf } = bundle();
  const error = stackIn(file, [placeOf('new Error'), placeOf('inner("it')]);
  const sourceUrl = new URL('../src/broken.ts', file).href;
  const expected = ['Error: it broke', `    at fn (${sourceUrl}:7:9)`, `    at fn (${sourceUrl}:3:10)`].join('\n');
  expect(sourceStack(error)).toBe(expected);
  // The second call reads no file.
  rmSync(dir, { recursive: true });
  expect(sourceStack(error)).toBe(expected);
});

test('a stack stays as it is without a map, with a damaged one, and for positions that the map does not have', () => {
  const { file } = bundle();
  writeFileSync(join(dir, 'torn.js.map'), '{"mappings":"AAAA');
  writeFileSync(join(dir, 'strange.js.map'), JSON.stringify({ mappings: 5, sources: ['a.ts'] }));
  for (const name of ['none.js', 'torn.js', 'strange.js']) {
    const error = stackIn(new URL(name, file).href, ['1:1', '4:17']);
    expect(sourceStack(error)).toBe(error.stack);
  }
  const beyond = stackIn(file, ['9999:1']);
  expect(sourceStack(beyond)).toBe(beyond.stack);
});

test('a path in the message is not looked up: a caller may have sent it', () => {
  const { file, placeOf } = bundle();
  const place = `${file}:${placeOf('new Error')}`;
  const error = new Error(`no such file: ${place}`);
  error.stack = `Error: ${error.message}\n    at fn (${place})`;
  expect(sourceStack(error)).toBe(`Error: ${error.message}\n    at fn (${new URL('../src/broken.ts', file).href}:7:9)`);
  // The same holds if the message was replaced after the stack was taken.
  error.message = 'another';
  expect(sourceStack(error)).toContain('broken.ts:7:9)');
});

test('a value that is not an error has no stack', () => {
  expect(sourceStack('text')).toBeUndefined();
});
