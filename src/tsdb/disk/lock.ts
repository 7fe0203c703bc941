import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { link, open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { isDiskFull, OperatorError } from '../../base/errors.ts';

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
  /** The namespace of process ids; absent from files of version 0.1.0. */
  readonly pids?: string;
  readonly host: string;
  readonly boot: string;
}

/** What a test replaces. */
export interface LockSystem {
  /** The folder in which the kernel lists processes. Default `/proc`; macOS, for example, has none. */
  readonly proc?: string;
  /** Writes the beginning of a file. Default: `FileHandle.write`. */
  readonly write?: (file: FileHandle, bytes: Uint8Array) => Promise<{ readonly bytesWritten: number }>;
}

/**
 * Limits a directory to one writer.
 *
 * Node has no flock, so the lock is a file that names its holder. A holder of another boot is dead. A holder in the same
 * namespace of process ids is alive if its pid runs with the same start time. A holder in another namespace, as in
 * another container, cannot be seen: it counts as alive while it touches the file. This rule also applies on a system
 * that does not report start times, and to a file without a name: on a full disk an empty file is the lock, until there
 * is room. The agents of a node share a namespace (`hostPID`), so none waits for one that was killed.
 * Errors: ERR_STORE_LOCKED, which names the holder; try again after 10 s. Those of the system; then no file stays.
 * Caveats: a process in another namespace that is stopped (SIGSTOP) for more than 10 s loses the lock without noticing.
 */
export async function lockDirectory(dir: string, clock: Clock, system: LockSystem = {}): Promise<() => Promise<void>> {
  const path = `${dir}/lock`;
  const { proc = '/proc', write = (file, bytes) => file.write(bytes, 0, bytes.length, 0) } = system;
  const me: Holder = {
    id: randomUUID(),
    pid: process.pid,
    started: startTime(process.pid, proc) ?? '',
    pids: processNamespace(proc),
    host: hostname(),
    boot: bootId(),
  };
  const isDead = async (at: string): Promise<boolean> => !(await isAlive(await readHolder(at), at, me, clock, proc));
  for (let attempt = 0; ; attempt++) {
    const file = await create(path);
    if (file) return hold(path, file, me, clock, write);
    if (attempt >= 3 || !(await isDead(path))) {
      const holder = await readHolder(path);
      const who = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
      throw new OperatorError('ERR_STORE_LOCKED', `store ${dir} is in use by ${who}`);
    }
    await removeDead(path, `${path}.${me.id}`, isDead);
  }
}

/**
 * Names the holder in its new file, and touches the file from then on. All calls are on the open file, because the path
 * may lead to the lock of another process one day.
 */
async function hold(
  path: string,
  file: FileHandle,
  me: Holder,
  clock: Clock,
  write: NonNullable<LockSystem['write']>,
): Promise<() => Promise<void>> {
  const name = new TextEncoder().encode(JSON.stringify(me));
  const writeName = async (): Promise<boolean> => (await write(file, name)).bytesWritten === name.length;
  const release = async (): Promise<void> => {
    try {
      const [mine, there] = [await file.stat(), await stat(path).catch(() => undefined)];
      if (there?.ino === mine.ino && there.dev === mine.dev) await rm(path, { force: true });
    } finally {
      await file.close();
    }
  };
  let isNamed = false;
  try {
    isNamed = await writeName();
  } catch (error) {
    if (!isDiskFull(error)) {
      await release();
      throw error;
    }
  }
  const touch = async (): Promise<void> => {
    if (!isNamed) isNamed = await writeName().catch(() => false);
    const seconds = clock.now() / 1000;
    await file.utimes(seconds, seconds);
  };
  let cancel: () => void = () => {};
  const touchLater = (): void => {
    cancel = clock.setTimeout(() => {
      touch().catch(() => {});
      touchLater();
    }, touchMs);
  };
  touchLater();
  return async () => {
    cancel();
    await release();
  };
}

/** Creates the file, empty; undefined when it is there. */
async function create(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'wx', 0o640);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
}

/**
 * Moves the dead holder's file away, and then checks what was moved. If two processes find the same dead holder, the
 * second may have moved the new lock of the first: then it puts that lock back.
 */
async function removeDead(path: string, aside: string, isDead: (path: string) => Promise<boolean>): Promise<void> {
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  if (!(await isDead(aside))) await link(aside, path).catch(() => {});
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
  if (holder && holder.pids === me.pids && me.started !== '') return startTime(holder.pid, proc) === holder.started;
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

function processNamespace(proc: string): string {
  try {
    return readlinkSync(`${proc}/self/ns/pid`);
  } catch {
    return '';
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
