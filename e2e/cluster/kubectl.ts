import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { kubernetesEnvironment } from './processes.ts';

export interface KubectlOptions {
  /** Piped to its standard input. */
  stdin?: string;
  /** Default: cluster-admin. */
  kubeconfig?: string;
  /** Milliseconds; default 60 s. */
  timeoutMs?: number;
}

/** Runs kubectl and resolves with its stdout. Errors: an Error with the arguments, the exit code and stderr. */
export type Kubectl = (args: readonly string[], options?: KubectlOptions) => Promise<string>;

export function createKubectl(program: string, adminKubeconfig: string, dir: string): Kubectl {
  return (args, options = {}) =>
    new Promise((resolve, reject) => {
      const env = kubernetesEnvironment({
        KUBECONFIG: options.kubeconfig ?? adminKubeconfig,
        KUBECACHEDIR: join(dir, 'kubectl-cache'),
      });
      const child = spawn(program, args, {
        env,
        stdio: ['pipe', 'pipe', 'pipe'],
        timeout: options.timeoutMs ?? 60_000,
      });
      const out: Buffer[] = [];
      const err: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
      child.once('error', reject);
      child.once('close', (code, signal) => {
        if (code === 0) return resolve(Buffer.concat(out).toString('utf8'));
        const how = code === null ? `signal ${signal ?? '?'}` : `exit ${code}`;
        reject(new Error(`kubectl ${args.join(' ')}: ${how}: ${Buffer.concat(err).toString('utf8').trim()}`));
      });
      child.stdin.on('error', () => undefined);
      child.stdin.end(options.stdin ?? '');
    });
}
