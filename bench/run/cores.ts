import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The core of the measured processes. */
export interface OneCore {
  /** Words to put before a command, to bind its process to the core; empty where binding is impossible. */
  readonly wrapper: readonly string[];
  /** The cores of a benchmark that also measures a peer, as text. `who`: the measured process of either side. */
  says(who: string): string;
  /** As `says`, for a benchmark without a peer. `others`: the processes that do not run on the measured core. */
  saysAlone(who: string, others: string): string;
}

let found: OneCore | undefined;

/**
 * Binds this process to all cores but the last. `wrapper` gives the last core to the measured process: both sides run
 * on the same core, and callers do not share it. Without `taskset`, or on one core, nothing is bound.
 */
export function oneCore(): OneCore {
  return (found ??= bind());
}

function bind(): OneCore {
  const cores = availableParallelism();
  const others = `0-${cores - 2}`;
  const bound =
    cores > 1 && spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', others, String(process.pid)]).status === 0;
  const rest = cores === 2 ? 'the other' : 'the others';
  return bound
    ? {
        wrapper: ['taskset', '--cpu-list', String(cores - 1)],
        says: (who) => `${who}: one core, the same for both sides; callers on ${rest}`,
        saysAlone: (who, others) => `${who}: one core; ${others}: ${rest}`,
      }
    : {
        wrapper: [],
        says: (who) => `${who}: not bound, ${cores} cores shared by both sides and the callers`,
        saysAlone: (who, others) => `${who}, ${others}: not bound, ${cores} cores`,
      };
}

/** Describes the cores of a benchmark whose processes share all of them. */
export function allCores(who: string): string {
  return `${who}: share ${availableParallelism()} cores`;
}
