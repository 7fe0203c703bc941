import { join } from 'node:path';
import { compileCacheDir } from '../../src/testing/cache-dir.ts';
import { toolEnvironment } from './processes.ts';

const dist = join(import.meta.dirname, '../../dist');

/** Our programs as they are shipped, from an earlier build. From the sources they take three times as long to start. */
export const builtPrograms = {
  svc: join(dist, 'svc/svc.js'),
  supervise: join(dist, 'svc/supervise.js'),
  minter: join(dist, 'minter/minter.js'),
  'kubectl-svc': join(dist, 'kubectl-svc/kubectl-svc.js'),
  'kubectl-complete-svc': join(dist, 'kubectl-svc/kubectl-complete-svc.js'),
} as const;

/** The environment of a tool that is a Node program. It also names the folder that keeps compiled code for later. */
export const nodeEnvironment = (extra: Readonly<Record<string, string>> = {}): Record<string, string> =>
  toolEnvironment({ NODE_COMPILE_CACHE: compileCacheDir, ...extra });
