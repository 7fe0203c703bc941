/** The platform (agents and query servers): one controller, which reconciles a single key. */
export { setupPlatform } from './reconciler.ts';
export { PlatformTrouble } from './trouble.ts';
export { announceTrouble, setupPlatformWatch } from './watchman.ts';
