/**
 * Environment of a Node process that should stay small: a young generation of 1 MiB, and one arena of malloc for all
 * threads. For programs that spend more time waiting for the network than computing.
 */
export const smallProcess = {
  NODE_OPTIONS: '--max-semi-space-size=1',
  MALLOC_ARENA_MAX: '1',
} as const;
