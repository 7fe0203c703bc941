import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { claimFolder } from './own-folder.ts';
import { killRun, processIdentity, signalGroup, toolEnvironment } from './processes.ts';

/**
 * A run of the harness. A record says what the run holds on this machine, so that others can release it if the run
 * cannot.
 *
 * Flow: `openRun` writes a record and starts a reaper that waits on a pipe; networks are claimed one by one;
 * `close` releases everything. If the owner dies without closing, the pipe closes and the reaper releases everything.
 * If the reaper died too, the next `openRun` finds a record whose owner is gone, and releases everything.
 */
export interface Run {
  readonly id: string;
  /** Where the run keeps its files. */
  readonly dir: string;
  /** Whether this process may make networks local to this machine. */
  readonly realAddresses: boolean;
  /** Claims the number of a free network: 1 … 250, unique on the machine. */
  claimNetwork(): number;
  close(): Promise<void>;
}

export interface RunOptions {
  /** An empty or new folder, kept at the end. Default: a temporary one, removed at the end. */
  dir?: string;
  /** Keep the folder although it is temporary. */
  keep?: boolean;
}

interface RunRecord {
  owner: number;
  ownerIdentity: string;
  /** Keep the temporary folder. Its path is not in the record: no record can name what is removed. */
  keep: boolean;
}

const registry = join(tmpdir(), `svc-cluster-${process.getuid?.() ?? 0}`);
const runs = join(registry, 'runs');
const networks = join(registry, 'networks');
/** The temporary folder of a run. */
const dataOf = (id: string): string => join(registry, 'data', id);
const lastNetwork = 250;

/** The address prefix of network n, without the last octet. `loopback` is what pods see as their own 127.0.0.1. */
export function networkPrefix(n: number, realAddresses: boolean): { pods: string; loopback: string } {
  return { pods: realAddresses ? `198.18.${n}` : `127.17.${n}`, loopback: `127.18.${n}` };
}

export const isRunId = (text: string): boolean => /^[0-9a-f]{12}$/.test(text);

/**
 * Releases what crashed runs left, then registers a run owned by this process.
 * Errors: a sentence if the registry is not a folder of this user alone, or if `dir` is not empty.
 */
export async function openRun(options: RunOptions = {}): Promise<Run> {
  whileFoldersGo(() => claimFolder(registry, 0o700));
  await reapDeadRuns();
  const id = randomBytes(6).toString('hex');
  const dir = options.dir ?? dataOf(id);
  if (options.dir === undefined) whileFoldersGo(() => makeFolder('data', id));
  else mkdirSync(dir, { recursive: true });
  if (readdirSync(dir).length > 0) throw new Error(`the folder ${dir} is not empty: a cluster needs a new one`);
  const identity = processIdentity(process.pid) ?? '';
  // Written aside and renamed: a run that starts at this moment must not read half a record and take this run for dead.
  const record: RunRecord = { owner: process.pid, ownerIdentity: identity, keep: options.keep ?? false };
  whileFoldersGo(() => {
    makeFolder('runs');
    writeFileSync(join(registry, `${id}.tmp`), JSON.stringify(record));
    renameSync(join(registry, `${id}.tmp`), join(runs, id));
  });
  const realAddresses = canAddNetworks();
  const reaper = startReaper(id);
  let closed: Promise<void> | undefined;
  return {
    id,
    dir,
    realAddresses,
    claimNetwork: () => claimNetwork(id, realAddresses),
    close: () =>
      (closed ??= (async () => {
        await giveBack(id);
        if (reaper.pid !== undefined) signalGroup(reaper.pid, 'SIGKILL');
      })()),
  };
}

/** Releases everything that a run holds: processes, addresses, files, record. Does nothing if nothing is left. */
export async function giveBack(id: string): Promise<void> {
  await killRun(id);
  whileFoldersGo(() => claimFolder(registry, 0o700));
  const record = readRecord(id);
  for (const name of namesIn(networks)) {
    if (readText(join(networks, name)) !== id) continue;
    removeNetwork(Number(name));
    rmSync(join(networks, name), { force: true });
  }
  if (record && !record.keep) rmSync(dataOf(id), { recursive: true, force: true, maxRetries: 5 });
  rmSync(join(runs, id), { force: true });
  removeEmptyRegistry();
}

/**
 * Makes a folder of the registry, and those around it, one after the other: the end of another run may have removed
 * them, and made at once they would have the mode of this user's new folders.
 */
function makeFolder(...path: string[]): void {
  claimFolder(registry, 0o700);
  path.forEach((_, i) => claimFolder(join(registry, ...path.slice(0, i + 1)), 0o700));
}

/** Removes the folders of the registry if they are empty, `runs` first: the last run leaves no folder. */
function removeEmptyRegistry(): void {
  try {
    for (const dir of [runs, networks, join(registry, 'data'), registry]) removeIfThere(dir);
  } catch {
    // Not empty: another run uses it.
  }
}

function removeIfThere(dir: string): void {
  try {
    rmdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Repeats `work` if the end of another run removed a folder in between. */
function whileFoldersGo(work: () => void): void {
  for (let tries = 0; ; tries++) {
    try {
      work();
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === 100) throw error;
    }
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

async function reapDeadRuns(): Promise<void> {
  for (const id of namesIn(runs).filter(isRunId)) {
    const record = readRecord(id);
    if (record && processIdentity(record.owner) === record.ownerIdentity) continue;
    await giveBack(id);
  }
}

function claimNetwork(run: string, realAddresses: boolean): number {
  for (let n = 1; n <= lastNetwork; n++) {
    try {
      whileFoldersGo(() => {
        makeFolder('networks');
        writeFileSync(join(networks, String(n)), run, { flag: 'wx' });
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw error;
    }
    if (realAddresses) addNetwork(n);
    return n;
  }
  throw new Error(`all ${lastNetwork} networks of ${networks} are in use`);
}

/** Until it is needed, the reaper is only a shell: its `read` ends when the owner's end of the pipe is closed. */
function startReaper(id: string): ChildProcess {
  const script = fileURLToPath(new URL('./reap.ts', import.meta.url));
  const reaper = spawn('/bin/sh', ['-c', 'read -r _; exec "$0" "$@"', process.execPath, script, id], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    env: toolEnvironment(),
  });
  reaper.unref();
  (reaper.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  return reaper;
}

/** Tries to add a route, outside the claimable range: root inside a container may still lack CAP_NET_ADMIN. */
function canAddNetworks(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const trial = `198.18.255.${randomInt(1, 255)}/32`;
  try {
    localRoute('replace', trial);
    localRoute('del', trial);
    return true;
  } catch {
    return false;
  }
}

/**
 * A local route makes every address of the network an address of this machine. No address is put on a device: the
 * kernel announces such a change to all programs, and Chromium then aborts its requests.
 */
function addNetwork(n: number): void {
  const { pods } = networkPrefix(n, true);
  // The node's own address first: it is the source of what is sent to the network, and a source has to be local.
  localRoute('replace', `${pods}.1/32`);
  localRoute('replace', `${pods}.0/24`, 'src', `${pods}.1`);
}

function removeNetwork(n: number): void {
  const { pods } = networkPrefix(n, true);
  for (const network of [`${pods}.0/24`, `${pods}.1/32`]) {
    try {
      localRoute('del', network);
    } catch {
      // Never added (no root), or removed already.
    }
  }
}

function localRoute(verb: 'replace' | 'del', network: string, ...more: string[]): void {
  execFileSync('ip', ['route', verb, 'local', network, 'dev', 'lo', ...more], { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** A network `198.18.N.0/24` with a local route on this machine, for all of it or for its node's address alone. */
export interface HeldNetwork {
  readonly network: string;
  /** The run that has claimed the network; undefined if no record names one, as after a crash. */
  readonly run: string | undefined;
}

export function heldNetworks(): HeldNetwork[] {
  if (process.platform !== 'linux') return [];
  const shown = execFileSync('ip', ['route', 'show', 'table', 'local', 'dev', 'lo'], { encoding: 'utf8' });
  const numbers = new Set([...shown.matchAll(/^local 198\.18\.(\d+)\./gm)].map(([, n]) => n!));
  return [...numbers].map((n) => ({
    network: `${networkPrefix(Number(n), true).pods}.0/24`,
    run: readText(join(networks, n)),
  }));
}

/** The record of a run; undefined if there is none, or if no run has written it. */
function readRecord(id: string): RunRecord | undefined {
  try {
    const { owner, ownerIdentity, keep } = JSON.parse(readFileSync(join(runs, id), 'utf8')) as Record<string, unknown>;
    if (typeof owner !== 'number' || typeof ownerIdentity !== 'string' || typeof keep !== 'boolean') return undefined;
    return { owner, ownerIdentity, keep };
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
