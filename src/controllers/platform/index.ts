/** The agent and query stack: one controller with one key. */
export { setupPlatform } from './reconciler.ts';
export { PlatformTrouble } from './trouble.ts';
export { announceTrouble, setupPlatformWatch } from './watchman.ts';
