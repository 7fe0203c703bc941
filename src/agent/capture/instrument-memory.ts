import { readFile } from 'node:fs/promises';

/**
 * Resident memory of a process, by its id on the node; null for a process that is not visible, as without `hostPID`.
 * Units: bytes.
 */
export async function residentMemory(pid: number | null, proc = '/proc'): Promise<number | null> {
  if (pid === null) return null;
  const status = await readFile(`${proc}/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}
