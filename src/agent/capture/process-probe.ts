import { readdir, readFile } from 'node:fs/promises';
import { basename, posix } from 'node:path';
import type { HealthProbe } from './health-socket.ts';

/** What the instrument's program is called in the images of the versions without a health check. */
const programs: ReadonlySet<string> = new Set(['ebpf-instrument', 'obi', 'beyla']);
/** Clock ticks a second in /proc; the kernel's USER_HZ, 100 on every platform the images exist for. */
const ticksPerSecond = 100;

/**
 * Finds the instrument of this pod among the processes of the node, for versions older than v0.10, which have no
 * health check: its start is what `/proc` says. Needs the host's PID namespace, which the instrument needs as well.
 * Another pod's instrument is told apart by its cgroup: containers of one pod share the parent.
 * Guarantees: a process that ends while it is looked at is passed over; of several, the one that started last counts.
 * Errors: none; a `/proc` that cannot be read is null, nobody answers.
 */
export function processProbe(proc = '/proc'): HealthProbe {
  return async () => {
    const mine = await podOf(proc, 'self');
    const bootMs = await bootTime(proc);
    if (mine === null || bootMs === null) return null;
    const pids = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name));
    const starts: number[] = [];
    for (const pid of pids) {
      const command = (await text(`${proc}/${pid}/cmdline`))?.split('\0')[0] ?? '';
      if (!programs.has(basename(command)) || (await podOf(proc, pid)) !== mine) continue;
      const ticks = startTicks((await text(`${proc}/${pid}/stat`)) ?? '');
      if (ticks !== null) starts.push(bootMs + (ticks / ticksPerSecond) * 1_000);
    }
    return starts.length === 0 ? null : { startMs: Math.max(...starts) };
  };
}

/**
 * The cgroup above the process' own, which the containers of a pod share. In a cgroup namespace the reader's own path
 * is `/` and that of a sibling `/../<container>`; without one both are whole paths.
 */
async function podOf(proc: string, pid: string): Promise<string | null> {
  const lines = (await text(`${proc}/${pid}/cgroup`))?.trim().split('\n') ?? [];
  const line = lines.find((entry) => entry.startsWith('0::')) ?? lines.find((entry) => entry.includes(':memory:'));
  const path = line?.split(':').slice(2).join(':');
  if (path === undefined) return null;
  // `posix.dirname('/')` would be `/` again.
  return path === '/' ? '/..' : posix.dirname(path);
}

async function bootTime(proc: string): Promise<number | null> {
  const found = /^btime (\d+)$/m.exec((await text(`${proc}/stat`)) ?? '');
  return found ? Number(found[1]) * 1_000 : null;
}

/** Field 22 of `/proc/<pid>/stat`; the second field, the name, may hold blanks and brackets. Source: proc(5). */
function startTicks(stat: string): number | null {
  const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  return Number.isFinite(ticks) ? ticks : null;
}

function text(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}
