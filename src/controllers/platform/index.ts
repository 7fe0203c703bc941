/** The agent and query stack: one controller with one key. */
export { setupPlatform, platformKey } from './reconciler.ts';
