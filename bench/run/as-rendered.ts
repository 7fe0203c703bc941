/** What images and manifests set for our processes; the test holds these to both. */

/** Every image. */
export const imageEnvironment = { NODE_ENV: 'production' } as const;

/** The agent's container. */
export const agentEnvironment = {
  ...imageEnvironment,
  NODE_OPTIONS: '--max-semi-space-size=4',
  MALLOC_ARENA_MAX: '1',
} as const;
