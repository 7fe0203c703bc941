import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../testing/fake-clock.ts';
import { lockDirectory } from './lock.ts';

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
  await writeFile(
    path,
    JSON.stringify({ id: 'x', pid: process.pid, started: '1', host: hostname(), boot: await boot(), ...holder }),
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
  ['a process of this host that has another start time (the pid was used again)', {}, 0],
  ['a process of this host that does not run', { pid: 2 ** 22 - 3 }, 0],
  ['a process of an earlier boot', { boot: 'earlier', host: 'elsewhere' }, 0],
  ['a pod that has not touched its lock for ten seconds', { host: 'other-pod' }, 11],
])('%s does not hold the lock', async (_, holder, age) => {
  await leave(holder, age);
  const unlock = await lockDirectory(dir, clock);
  await expect(lockDirectory(dir, clock)).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  await unlock();
});

test('a pod of this node whose processes are hidden holds the lock while it touches its file', async () => {
  await leave({ host: 'other-pod' }, 9);
  await expect(lockDirectory(dir, clock)).rejects.toThrow(/in use by process \d+ on other-pod/);
});

test('if start times of processes cannot be read, a holder of this host lives while it touches its file', async () => {
  const unlock = await lockDirectory(dir, clock, '/nowhere');
  await utimes(join(dir, 'lock'), now / 1000, now / 1000);
  await expect(lockDirectory(dir, clock, '/nowhere')).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  await unlock();
  await (
    await lockDirectory(dir, clock, '/nowhere')
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
