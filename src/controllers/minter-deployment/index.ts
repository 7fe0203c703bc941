/** The controller of MinterDeployment. */
export { setupMinterDeployment, type MinterDeps, type MinterSettings } from './reconciler.ts';
