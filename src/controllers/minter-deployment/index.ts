/** The controller of MinterDeployment. */
export { setupMinterDeployment } from './reconciler.ts';
