/**
 * Processes of the product's containers, found by their command lines, which needs neither the API server nor the
 * container runtime.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** The parts of the product that run in containers, each with a pattern for the command line of its program. */
export const parts = {
  agent: /\/svc\.js agent /,
  query: /\/svc\.js query /,
  operator: /\/svc\.js operator /,
  minter: /\/minter\.js server run|start\.mjs server run/,
  supervisor: /supervise\.mjs/,
  instrument: /\/obi(?: |$)/,
} as const satisfies Readonly<Record<string, RegExp>>;
export type Part = keyof typeof parts;

/** Pids of a part in ascending order, so that the newest is last; empty if none runs. */
export function processesOf(part: Part): number[] {
  const found: number[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (Number.isInteger(pid) && parts[part].test(commandOf(pid)) && isContained(pid)) found.push(pid);
  }
  return found.sort((a, b) => a - b);
}

function commandOf(pid: number): string {
  return readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

/** Whether a process is in a control group of the kubelet: programs outside of containers may match a pattern, too. */
const isContained = (pid: number): boolean => readText(`/proc/${pid}/cgroup`).includes('kubepods');

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}
