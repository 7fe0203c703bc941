import { readFile } from 'node:fs/promises';
import type { CaptureLimit } from '../../capture/index.ts';

/**
 * The first release in each kernel series that requires SYS_ADMIN for uprobes. From 5.8 until that release, PERFMON was
 * enough. All releases from `allSince` on require SYS_ADMIN.
 * Source: kernel.org, "perf: Revert to requiring CAP_SYS_ADMIN for uprobes" (CVE-2025-38466).
 */
const refusesSince: readonly (readonly [major: number, minor: number, patch: number])[] = [
  [5, 10, 240],
  [5, 15, 189],
  [6, 1, 146],
  [6, 6, 99],
  [6, 12, 39],
  [6, 15, 7],
];
const allSince = [6, 16] as const;

/**
 * Whether a kernel certainly refuses uprobes to a process without SYS_ADMIN. Any other kernel may refuse them too:
 * distributions backport the change to older versions, and before 5.8 only kernels with a backport of PERFMON allow
 * them.
 */
export function refusesUprobes(version: string): boolean {
  const [, major, minor, patch = 0] = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(version)?.map(Number) ?? [];
  if (major === undefined || minor === undefined) return false;
  if (major > allSince[0] || (major === allSince[0] && minor >= allSince[1])) return true;
  return refusesSince.some(([a, b, since]) => a === major && b === minor && patch >= since);
}

/**
 * The kernel's version with its patch number, which Debian and Ubuntu leave out of the release's name; null when no
 * file names a version.
 */
export async function kernelVersion(proc = '/proc'): Promise<string | null> {
  const ubuntu = /(\d+\.\d+\.\d+)\s*$/.exec(await text(`${proc}/version_signature`))?.[1];
  if (ubuntu !== undefined) return ubuntu;
  const version = await text(`${proc}/version`);
  return (/ Debian (\d+\.\d+\.\d+)/.exec(version) ?? /^Linux version (\d+\.\d+(?:\.\d+)?)/.exec(version))?.[1] ?? null;
}

const sysAdmin = 1n << 21n;

/** Whether a process has SYS_ADMIN; null when its status file cannot be read. */
export async function hasSysAdmin(pid: number, proc = '/proc'): Promise<boolean | null> {
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec(await text(`${proc}/${pid}/status`))?.[1];
  return mask === undefined ? null : (BigInt(`0x${mask}`) & sysAdmin) !== 0n;
}

/**
 * The limits that the kernel sets for the eBPF instrument with this process id; empty if there are none or they are
 * unknown.
 */
export async function captureLimits(pid: number, proc = '/proc'): Promise<readonly CaptureLimit[]> {
  if ((await hasSysAdmin(pid, proc)) !== false) return [];
  const version = await kernelVersion(proc);
  const refuses = version !== null && refusesUprobes(version);
  const message = `${version === null ? 'the kernel' : `Linux ${version}`} ${refuses ? 'refuses' : 'may refuse'} uprobes without SYS_ADMIN: requests of Go programs, and those over TLS, are ${refuses ? '' : 'then '}not captured; with --instrument-privileges=sys-admin they are`;
  return [{ certain: refuses, message }];
}

async function text(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
