import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../src/testing/until.ts';
import { holderOf, underLock } from './lock.ts';
import { processIdentity } from './processes.ts';

let temp: string;
let dir: string;
let lock: string;
let said: string[];
let log: (line: string) => void;
beforeEach(() => {
  temp = mkdtempSync(join(tmpdir(), 'svc-lock-'));
  dir = join(temp, 'v1');
  lock = `${dir}.lock`;
  said = [];
  log = (line) => void said.push(line);
});
afterEach(() => rmSync(temp, { recursive: true }));

test('work under one lock is done one after the other, and no file is left', async () => {
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const both = [
    underLock(dir, { log }, async () => {
      await first.promise;
      done.push('first');
    }),
    underLock(dir, { log }, async () => done.push('second')),
  ];
  await until('the second waits', () => said[0]);
  expect(said).toEqual([`waiting for another build (${lock} held by process ${process.pid})`]);
  first.resolve();
  await Promise.all(both);
  expect(done).toEqual(['first', 'second']);
  expect(readdirSync(temp)).toEqual(['v1']);
});

test.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])(
  'where a folder has no hard links (%s), a lock is taken, names its holder and is waited for all the same',
  async (code) => {
    let asked = 0;
    const link = (): never => {
      asked++;
      throw Object.assign(new Error(`${code}: no link`), { code });
    };
    const abort = new AbortController();
    await underLock(dir, { log, link }, async () => {
      expect(readFileSync(lock, 'utf8')).toBe(`${process.pid} ${processIdentity(process.pid)}`);
      const next = underLock(dir, { log, link, signal: abort.signal }, async () => 'done');
      await until('the second waits', () => said[0]);
      abort.abort(new Error('Ctrl-C'));
      await expect(next).rejects.toThrow('Ctrl-C');
      expect([asked, readdirSync(temp).toSorted()]).toEqual([2, ['v1', 'v1.lock']]);
    });
    expect(readdirSync(temp)).toEqual(['v1']);
  },
  10_000,
);

test('a wait ends with the signal, and the lock stays', async () => {
  writeFileSync(lock, `${process.pid} ${processIdentity(process.pid)}`);
  const abort = new AbortController();
  const waiting = underLock(dir, { log, signal: abort.signal }, async () => 'done');
  await until('it waits', () => said[0]);
  abort.abort(new Error('Ctrl-C'));
  await expect(waiting).rejects.toThrow('Ctrl-C');
  expect(existsSync(lock)).toBe(true);
}, 10_000);

test('a lock whose holder is gone is taken over', async () => {
  writeFileSync(lock, `${process.pid} 1`);
  expect(await underLock(dir, { log }, async () => 'done')).toBe('done');
  expect(said).toEqual([]);
});

test('the identity of a holder may contain blanks, as on macOS', () => {
  expect(holderOf('12 Thu Nov 26 17:20:02 2026')).toEqual({ pid: 12, identity: 'Thu Nov 26 17:20:02 2026' });
});

test.each([
  ['is empty, as after a power cut', ''],
  ['names no process', 'x y'],
])(
  'a lock that %s is taken over when it is old',
  async (_what, text) => {
    writeFileSync(lock, text);
    const abort = new AbortController();
    const waiting = underLock(dir, { log, signal: abort.signal }, async () => 'done');
    await until('it waits while the lock is new', () => said[0]);
    expect(said).toEqual([`waiting for another build (${lock} held by process unknown)`]);
    const old = Date.now() / 1000 - 60;
    utimesSync(lock, old, old);
    expect(await waiting).toBe('done');
  },
  10_000,
);

test.each<[string, () => string]>([
  ['cannot be made', () => join(temp, 'x'.repeat(252))],
  ['is in a folder that cannot be made', () => join(lock, 'v1')],
])(
  'a lock that %s is an error with the way out',
  async (_what, folder) => {
    writeFileSync(lock, '');
    const abort = new AbortController();
    const taking = underLock(folder(), { log, signal: abort.signal }, async () => 'done');
    await expect(taking).rejects.toThrow(
      /^the lock .*\.lock cannot be taken \(E[A-Z]+: .*\): set XDG_CACHE_HOME to a folder/,
    );
    expect(said).toEqual([]);
  },
  10_000,
);
