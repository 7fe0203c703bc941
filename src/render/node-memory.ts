import type { EnvVar } from './pod-security.ts';

/**
 * The largest size of each of the two semi-spaces of V8's young generation, by program; V8's default is 16. Memory that
 * a peak has taken stays resident. Units: MiB.
 */
const halfOfYoung = {
  /** Reconciling waits for the network more than it computes. */
  controller: 1,
  /** 50,000 series then fit into 256 MiB, at the cost of a little more garbage collection. */
  agent: 4,
  query: 4,
  minter: 2,
} as const;

/**
 * Environment variables that keep a Node process small: the limit above, and one arena of malloc for all threads. The
 * threads allocate little, and each further arena would retain freed memory.
 */
export function nodeMemory(program: keyof typeof halfOfYoung) {
  return {
    NODE_OPTIONS: `--max-semi-space-size=${halfOfYoung[program]}`,
    MALLOC_ARENA_MAX: '1',
  } as const;
}

/** The same in the form of a container's `env`. */
export function nodeMemoryEnv(program: keyof typeof halfOfYoung): EnvVar[] {
  return Object.entries(nodeMemory(program)).map(([name, value]) => ({ name, value }));
}
