import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

/**
 * CPU time of all threads of a process; on a busy machine it is a fairer measure than wall time. Units: ms, in steps of
 * 10 ms on kernels without scheduler statistics.
 */
export function cpuMs(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce(
      (sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
      0,
    );
  } catch {
    return ticksOf(pid) * msPerTick;
  }
}

/** 100 ticks a second on every Linux that Node.js runs on. */
const msPerTick = 10;

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** The memory that is resident now. Units: MiB. */
export function residentMiB(pid: number): number {
  return statusMiB(pid, 'VmRSS');
}

/** The most memory that was resident so far. Units: MiB. */
export function peakMiB(pid: number): number {
  return statusMiB(pid, 'VmHWM');
}

/** Makes the kernel forget the peak so far. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function statusMiB(pid: number, name: string): number {
  const line = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1024;
}
