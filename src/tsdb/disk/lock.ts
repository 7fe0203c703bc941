import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';

/**
 * Interval at which the holder touches its file; a holder that cannot be seen counts as dead after `staleMs` without a
 * touch.
 */
const touchMs = 2_000;
const staleMs = 10_000;

interface Holder {
  readonly id: string;
  readonly pid: number;
  /** The process's start time from the kernel: it distinguishes two processes with the same pid. */
  readonly started: string;
  readonly host: string;
  readonly boot: string;
}

/**
 * Limits a directory to one writer.
 *
 * Node has no flock, so the lock is a file that names its holder. A holder on this host (same pod) is alive if its pid
 * runs with the same start time. A holder of another boot is dead. A holder in another pod of this node cannot be seen
 * (pid namespaces): it counts as alive while it touches the file. This rule also applies on a system that does not
 * report start times.
 * `proc`: the folder in which the kernel lists processes; macOS, for example, has none.
 * Errors: ERR_STORE_LOCKED, which names the holder; try again after 10 s.
 * Caveats: a process in another pod that is stopped (SIGSTOP) for more than 10 s loses the lock without noticing.
 */
export async function lockDirectory(dir: string, clock: Clock, proc = '/proc'): Promise<() => Promise<void>> {
  const path = `${dir}/lock`;
  const me: Holder = {
    id: randomUUID(),
    pid: process.pid,
    started: startTime(process.pid, proc) ?? '',
    host: hostname(),
    boot: bootId(),
  };
  for (let attempt = 0; ; attempt++) {
    try {
      await writeFile(path, JSON.stringify(me), { flag: 'wx', mode: 0o640 });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = await readHolder(path);
    if (attempt >= 3 || (await isAlive(holder, path, me, clock, proc))) {
      const who = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
      throw new OperatorError('ERR_STORE_LOCKED', `store ${dir} is in use by ${who}`);
    }
    await removeDead(path, `${path}.${me.id}`, holder);
  }
  let cancel: () => void = () => {};
  const touch = (): void => {
    cancel = clock.setTimeout(() => {
      const seconds = clock.now() / 1000;
      utimes(path, seconds, seconds).catch(() => {});
      touch();
    }, touchMs);
  };
  touch();
  return async () => {
    cancel();
    if ((await readHolder(path))?.id === me.id) await rm(path, { force: true });
  };
}

/**
 * Moves the dead holder's file away, and then checks what was moved. If two processes find the same dead holder, the
 * second may have moved the new lock of the first: then it puts that lock back.
 */
async function removeDead(path: string, aside: string, dead: Holder | undefined): Promise<void> {
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const moved = await readHolder(aside);
  if (moved?.id !== dead?.id) await link(aside, path).catch(() => {});
  await rm(aside, { force: true });
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

async function isAlive(
  holder: Holder | undefined,
  path: string,
  me: Holder,
  clock: Clock,
  proc: string,
): Promise<boolean> {
  if (holder && holder.boot !== me.boot) return false;
  if (holder && holder.host === me.host && me.started !== '') return startTime(holder.pid, proc) === holder.started;
  try {
    return clock.now() - (await stat(path)).mtimeMs < staleMs;
  } catch {
    return false;
  }
}

/** Field 22 of /proc/<pid>/stat (the name in field 2 may hold anything); undefined when no such process runs. */
function startTime(pid: number, proc: string): string | undefined {
  try {
    const text = readFileSync(`${proc}/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
