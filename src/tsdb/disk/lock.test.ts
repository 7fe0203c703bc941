import { type FileHandle, mkdtemp, readdir, readFile, readlink, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { lockDirectory, type LockSystem } from './lock.ts';

const now = Date.UTC(2026, 0, 1);
let dir: string;
let clock: FakeClock;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-lock-'));
  clock = new FakeClock(now);
});
afterEach(() => rm(dir, { recursive: true }));

/** Writes the lock file of a holder that last touched it `age` seconds ago. */
async function leave(holder: object, age = 0): Promise<void> {
  const path = join(dir, 'lock');
  const pids = await readlink('/proc/self/ns/pid');
  await writeFile(
    path,
    JSON.stringify({ id: 'x', pid: process.pid, started: '1', pids, host: hostname(), boot: await boot(), ...holder }),
  );
  await utimes(path, now / 1000 - age, now / 1000 - age);
}
const boot = async (): Promise<string> => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();

test('a lock is held until it is released', async () => {
  const unlock = await lockDirectory(dir, clock);
  await expect(lockDirectory(dir, clock)).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  await unlock();
  await (
    await lockDirectory(dir, clock)
  )();
});

test.each<[title: string, holder: object, age: number]>([
  ['a process that has another start time (the pid was used again)', {}, 0],
  ['a process that does not run', { pid: 2 ** 22 - 3 }, 0],
  ['a process of another pod with the same process ids that does not run', { host: 'other-pod' }, 0],
  ['a process of an earlier boot', { boot: 'earlier', host: 'elsewhere' }, 0],
  ['a pod that has not touched its lock for ten seconds', { host: 'other-pod', pids: 'pid:[1]' }, 11],
])('%s does not hold the lock', async (_, holder, age) => {
  await leave(holder, age);
  const unlock = await lockDirectory(dir, clock);
  await expect(lockDirectory(dir, clock)).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  await unlock();
});

test.each<[title: string, holder: { host: string; pids: string | undefined }]>([
  ['a pod of this node whose processes are hidden', { host: 'other-pod', pids: 'pid:[1]' }],
  ["a container on the host's network whose processes are hidden", { host: hostname(), pids: 'pid:[1]' }],
  ['a process of a version that did not name its process namespace', { host: hostname(), pids: undefined }],
])('%s holds the lock while it touches its file', async (_, holder) => {
  await leave(holder, 9);
  await expect(lockDirectory(dir, clock)).rejects.toThrow(`in use by process ${process.pid} on ${holder.host}`);
});

test('a process that can be seen holds the lock although it is stopped and touches nothing', async () => {
  const unlock = await lockDirectory(dir, clock);
  await utimes(join(dir, 'lock'), now / 1000 - 60, now / 1000 - 60);
  await expect(lockDirectory(dir, clock)).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  await unlock();
});

test('if start times of processes cannot be read, a holder of this host lives while it touches its file', async () => {
  const unlock = await lockDirectory(dir, clock, { proc: '/nowhere' });
  await utimes(join(dir, 'lock'), now / 1000, now / 1000);
  await expect(lockDirectory(dir, clock, { proc: '/nowhere' })).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  await unlock();
  await (
    await lockDirectory(dir, clock, { proc: '/nowhere' })
  )();
});

test('a lock file that was truncated by a crash is respected for ten seconds, then replaced', async () => {
  const path = join(dir, 'lock');
  await writeFile(path, '{"id":');
  await utimes(path, now / 1000, now / 1000);
  await expect(lockDirectory(dir, clock)).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  clock.jumpWall(9_000);
  await expect(lockDirectory(dir, clock)).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  clock.jumpWall(2_000);
  await (
    await lockDirectory(dir, clock)
  )();
});

/** A write that fails until it may succeed. */
function failing(code: string): { mayWrite: boolean; write: NonNullable<LockSystem['write']> } {
  const disk = {
    mayWrite: false,
    write: async (file: FileHandle, bytes: Uint8Array) => {
      if (!disk.mayWrite) throw Object.assign(new Error(`${code}: no`), { code });
      return file.write(bytes, 0, bytes.length, 0);
    },
  };
  return disk;
}

test.each(['ENOSPC', 'EDQUOT'])('on a full disk (%s) an empty file is the lock, and is touched', async (code) => {
  const path = join(dir, 'lock');
  const unlock = await lockDirectory(dir, clock, failing(code));
  expect(await readFile(path, 'utf8')).toBe('');
  await utimes(path, now / 1000, now / 1000);
  clock.jumpWall(9_000);
  await clock.advance(2_000);
  await until('the touch', async () => (await stat(path)).mtimeMs, { good: (ms) => ms === now + 11_000 });
  await expect(lockDirectory(dir, clock)).rejects.toThrow(/in use by another process/);
  await unlock();
  expect(await readdir(dir)).toEqual([]);
});

test('a lock that was taken on a full disk names its holder once there is room', async () => {
  const disk = failing('ENOSPC');
  const unlock = await lockDirectory(dir, clock, disk);
  await clock.advance(2_000);
  disk.mayWrite = true;
  await clock.advance(2_000);
  await until('the name', () => readFile(join(dir, 'lock'), 'utf8'), { good: (text) => text.endsWith('}') });
  await expect(lockDirectory(dir, clock)).rejects.toThrow(`in use by process ${process.pid}`);
  await unlock();
  expect(await readdir(dir)).toEqual([]);
});

test('a holder without a name that lost its lock leaves that of the next holder alone', async () => {
  const path = join(dir, 'lock');
  const unlock = await lockDirectory(dir, clock, failing('ENOSPC'));
  await utimes(path, now / 1000, now / 1000);
  clock.jumpWall(11_000);
  const next = await lockDirectory(dir, clock, failing('ENOSPC'));
  await utimes(path, now / 1000, now / 1000);
  await unlock();
  expect([await readdir(dir), (await stat(path)).mtimeMs]).toEqual([['lock'], now]);
  await next();
});

test('a lock file that cannot be written for another reason is removed again', async () => {
  await expect(lockDirectory(dir, clock, failing('EIO'))).rejects.toMatchObject({ code: 'EIO' });
  expect(await readdir(dir)).toEqual([]);
});
