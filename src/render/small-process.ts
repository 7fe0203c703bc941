/**
 * Environment of a Node process that is to stay small: a young generation of 1 MiB, and one arena of malloc for all
 * threads. For programs that wait for the network more than they compute.
 */
export const smallProcess = {
  NODE_OPTIONS: '--enable-source-maps --max-semi-space-size=1',
  MALLOC_ARENA_MAX: '1',
} as const;
