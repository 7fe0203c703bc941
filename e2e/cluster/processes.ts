/**
 * Child processes that cannot outlive their parent, and a way to find every process of a run.
 *
 * Guarantees: a child gets the run's marker in its environment, so that whatever is left of a crashed run can be
 * found without a list of pids. Where util-linux is installed, the kernel kills a child as soon as its parent dies.
 * Caveats: elsewhere (macOS) a child of a killed parent lives until the run's reaper, a process that waits for the end
 * of the parent, has seen the parent's pipe close.
 */
import { spawn, execFileSync } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** The environment variable that marks every process of a run. */
export const runMarker = 'SVC_CLUSTER_RUN';

export interface ChildOptions {
  /** The run it belongs to, or `run/part` for a part that can be killed alone. */
  run: string;
  /** The whole environment; the marker is added. */
  env: Readonly<Record<string, string>>;
  cwd?: string;
  stdio: StdioOptions;
}

/** Starts a process in its own session (a Ctrl-C at the terminal does not reach it: we stop it ourselves). */
export function spawnBound(command: readonly string[], options: ChildOptions): ChildProcess {
  const [file = '', ...args] = setpriv ? [setpriv, '--pdeathsig', 'KILL', '--', ...command] : command;
  return spawn(file, args, {
    stdio: options.stdio,
    detached: true,
    env: { ...options.env, [runMarker]: options.run },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
}

/** The environment of our own tools. It has only those of the user's variables that find programs and folders. */
export function toolEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };
  for (const name of ['HOME', 'TMPDIR', 'LANG']) if (process.env[name]) env[name] = process.env[name];
  return { ...env, ...extra };
}

/**
 * As `toolEnvironment`, for the programs of Kubernetes. With Go's default they spend an eighth of their CPU time on
 * garbage collection while their heaps are small. Above the memory limit they collect as often as they need to.
 */
export function kubernetesEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return toolEnvironment({ GOGC: '400', GOMEMLIMIT: '1GiB', ...extra });
}

/** Signals the whole group of a child started here; false when it is gone already. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Resolves when the child has ended; immediately if it already has. */
export function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

/** Pids of the processes with the marker of a run, or of a part of a run; without the caller's own. */
export function processesOfRun(run: string): number[] {
  const marker = `${runMarker}=${run}`;
  const wanted = (entry: string): boolean => entry === marker || entry.startsWith(`${marker}/`);
  if (!existsSync('/proc/self/environ')) return fromPs(wanted);
  const found: number[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').some(wanted)) found.push(pid);
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return found;
}

/** Kills every process of a run and waits until none is left (≤ 5 s). */
export async function killRun(run: string): Promise<void> {
  for (let i = 0; i < 100; i++) {
    const pids = processesOfRun(run);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone already.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * The start time of a process, which distinguishes the process from a later one with the same pid. Returns undefined
 * when no process has the pid.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    if (existsSync('/proc/self/stat')) {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' ? undefined : fields[19];
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

function fromPs(wanted: (entry: string) => boolean): number[] {
  const lines = execFileSync('ps', ['-axEww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 64 << 20 });
  return lines
    .split('\n')
    .filter((line) => line.split(' ').some(wanted))
    .map((line) => Number.parseInt(line, 10))
    .filter((pid) => pid !== process.pid);
}

const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path));
