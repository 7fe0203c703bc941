import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ports } from '../../src/render/index.ts';
import { cpuMs } from '../run/process-figures.ts';

/** The programs of an installation. */
export const roles = ['operator', 'agent', 'query', 'minter'] as const;
export type Role = (typeof roles)[number];

/** One process of the watched programs. */
export interface Started {
  readonly pid: number;
  readonly role: Role;
  /** CPU time and age when the process first answered as ready; null if it was not seen ready. Units: ms. */
  readonly ready: { readonly cpuMs: number; readonly wallMs: number } | null;
  readonly runs: () => boolean;
}

export interface Watch {
  /** Ends the watch and returns the processes that were seen. Further calls return the same. */
  stop(): readonly Started[];
}

/** The pause between two looks: short compared with a start, which takes half a second. Units: ms. */
const pauseMs = 50;

/** The endpoint of each program's readiness probe. */
const answers: Record<Role, { readonly port: number; readonly path: string }> = {
  operator: { port: ports.controllerMetrics, path: '/readyz' },
  agent: { port: ports.scrape, path: '/readyz' },
  query: { port: ports.queryHealth, path: '/readyz' },
  minter: { port: ports.minter, path: '/version' },
};

/** Watches for processes that run the programs in `dist` of a folder, from their start until they are ready. */
export function watchStarts(dir: string): Watch {
  const known = new Map<number, { role: Role; ready: Started['ready'] }>();
  let ended = false;
  let asking = false;
  const look = async (): Promise<void> => {
    const table = listening();
    for (const pid of processes()) {
      const role = known.get(pid)?.role ?? roleOf(pid, dir);
      if (role === null) continue;
      const one = known.get(pid) ?? { role, ready: null };
      known.set(pid, one);
      if (one.ready !== null) continue;
      const { port, path } = answers[role];
      const host = hostOf(pid, port, table);
      if (host === null || !(await isReady(`http://${host}:${port}${path}`))) continue;
      one.ready = { cpuMs: cpuMs(pid), wallMs: ageMs(pid) };
    }
  };
  const timer = setInterval(() => {
    if (asking || ended) return;
    asking = true;
    void look().finally(() => (asking = false));
  }, pauseMs);
  return {
    stop() {
      ended = true;
      clearInterval(timer);
      return [...known].map(([pid, one]) => ({ pid, ...one, runs: () => argsOf(pid).length > 0 }));
    },
  };
}

function processes(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function argsOf(pid: number): string[] {
  return text(`/proc/${pid}/cmdline`).split('\0').filter(Boolean);
}

function roleOf(pid: number, dir: string): Role | null {
  const args = argsOf(pid);
  const at = args.findIndex((arg) => [join(dir, 'dist/svc/svc.js'), join(dir, 'dist/minter/minter.js')].includes(arg));
  if (at < 0) return null;
  const role = args[at]!.endsWith('minter.js') ? 'minter' : args[at + 1];
  return roles.find((each) => each === role) ?? null;
}

/** Listening sockets by inode: `address:port` in hexadecimal digits, the address in the kernel's byte order. */
function listening(): Map<string, string> {
  const rows = text('/proc/net/tcp').split('\n').slice(1);
  const fields = rows.map((row) => row.trim().split(/\s+/)).filter(([, , , state]) => state === '0A');
  return new Map(fields.map((field) => [field[9]!, field[1]!]));
}

/** The address at which a process listens on a port; null while it does not. */
function hostOf(pid: number, port: number, table: ReadonlyMap<string, string>): string | null {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const descriptor of names(`/proc/${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/.exec(link(`/proc/${pid}/fd/${descriptor}`))?.[1];
    const local = inode === undefined ? undefined : table.get(inode);
    if (!local?.endsWith(suffix)) continue;
    return local
      .slice(0, 8)
      .match(/../g)!
      .reverse()
      .map((byte) => Number.parseInt(byte, 16))
      .join('.');
  }
  return null;
}

function isReady(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.ok;
    },
    () => false,
  );
}

/** The time since the kernel started the process. */
function ageMs(pid: number): number {
  const stat = text(`/proc/${pid}/stat`);
  const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  return Number(text('/proc/uptime').split(' ')[0]) * 1_000 - ticks * 10;
}

/** A process can end while it is looked at: a file that is gone reads as empty. */
function text(path: string): string {
  return orElse(() => readFileSync(path, 'utf8'), '');
}

function link(path: string): string {
  return orElse(() => readlinkSync(path), '');
}

function names(path: string): string[] {
  return orElse(() => readdirSync(path), []);
}

function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
