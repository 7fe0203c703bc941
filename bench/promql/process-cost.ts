import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * What puts a command on one core, the same for both sides, and ourselves on the others. Empty where there is no
 * `taskset` or only one core: then both sides have what the machine has.
 */
export function oneCoreWrapper(): readonly string[] {
  const cores = availableParallelism();
  if (cores < 2) return [];
  const others = spawnSync('taskset', ['--pid', '--cpu-list', `0-${cores - 2}`, String(process.pid)]);
  return others.status === 0 ? ['taskset', '--cpu-list', String(cores - 1)] : [];
}

/** Milliseconds of processor time a process has used, all threads: unlike wall time it is fair on a busy machine. */
export function cpuOf(pid: number): number {
  let total = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    total += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  }
  return total;
}

/** Peak resident memory of a process, in MiB. */
export function peakMemory(pid: number): number {
  return memoryLine(pid, 'VmHWM');
}

/** What is resident now, in MiB. */
export function residentMemory(pid: number): number {
  return memoryLine(pid, 'VmRSS');
}

function memoryLine(pid: number, name: string): number {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`));
  return Number(/\d+/.exec(line ?? '')?.[0]) / 1024;
}
