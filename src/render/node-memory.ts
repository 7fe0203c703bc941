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
 * Node.js gives each TLS connection a buffer of this size and rarely fills more than a few kilobytes of it. From this
 * size on, malloc of the controller gets fresh pages, which take no memory until they are written to, and not a used
 * piece of its heap: 10 KiB less for each agent. The other programs have few connections, and some read much without
 * TLS, which is slower with fresh pages. Units: bytes.
 */
const freshPagesFrom = 65_536;

/**
 * Environment variables that keep a Node.js process small: the limits above, and one arena of malloc for all threads.
 * The threads allocate little, and each further arena would retain freed memory.
 */
export function nodeMemory(program: keyof typeof halfOfYoung): Readonly<Record<string, string>> {
  return {
    NODE_OPTIONS: `--max-semi-space-size=${halfOfYoung[program]}`,
    MALLOC_ARENA_MAX: '1',
    ...(program === 'controller' ? { MALLOC_MMAP_THRESHOLD_: String(freshPagesFrom) } : {}),
  };
}

/** The variables of `nodeMemory` in the form of a container's `env`. */
export function nodeMemoryEnv(program: keyof typeof halfOfYoung): EnvVar[] {
  return Object.entries(nodeMemory(program)).map(([name, value]) => ({ name, value }));
}
