import type { EnvVar } from './pod-security.ts';

/**
 * The most that V8's young generation may grow to in each program, by its two halves; V8's own would be 16. What a peak
 * has made of it stays resident. Units: MiB.
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
 * What keeps a Node process small, as variables of its environment: that limit, and one arena of malloc for all threads,
 * which allocate little while each arena retains freed memory.
 */
export function nodeMemory(program: keyof typeof halfOfYoung) {
  return {
    NODE_OPTIONS: `--max-semi-space-size=${halfOfYoung[program]}`,
    MALLOC_ARENA_MAX: '1',
  } as const;
}

/** The same as a container has it. */
export function nodeMemoryEnv(program: keyof typeof halfOfYoung): EnvVar[] {
  return Object.entries(nodeMemory(program)).map(([name, value]) => ({ name, value }));
}
