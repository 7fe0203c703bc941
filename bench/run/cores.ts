import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The core of what is measured. */
export interface OneCore {
  /** Goes before a command and binds it; empty where binding is impossible. */
  readonly wrapper: readonly string[];
  /** Text for a setting with a peer: `who` of either side has that core or, where nothing is bound, has not. */
  says(who: string): string;
  /** As `says`, for a setting without a peer. */
  saysAlone(who: string, others: string): string;
}

let found: OneCore | undefined;

/**
 * Binds this process to all cores but the last, which `wrapper` gives to what is measured: both sides have the same one,
 * and callers do not share it. Without `taskset`, or on one core, nothing is bound.
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
        says: (who) => `${who}: not bound, ${cores} cores for sides and callers`,
        saysAlone: (who, others) => `${who}, ${others}: not bound, ${cores} cores`,
      };
}

/** The setting of benchmarks whose processes share what the machine has. */
export function allCores(who: string): string {
  return `${who}: share ${availableParallelism()} cores`;
}
