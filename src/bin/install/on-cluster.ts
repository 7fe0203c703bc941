import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { createKubeClient } from '../../kube/index.ts';
import type { InstallerDeps } from './installer.ts';

/** The flags that every command against a cluster takes. */
export interface ClusterFlags {
  kubeconfig?: string;
  context?: string;
}

export function clusterOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig to use instead of KUBECONFIG or ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig to use');
}

/**
 * Lets the process go on when the reader of a stream goes away, as `| head` does: it must not end half-way through its
 * changes. Any other error of a stream, such as a full disk, makes the exit code 1.
 */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code !== 'EPIPE') process.exitCode = 1;
    });
}

/** A line of progress, on stderr. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs `work` against the cluster of the flags. Ctrl-C aborts it. */
export async function onCluster(
  { kubeconfig, context }: ClusterFlags,
  { userAgent, namespace }: { userAgent: string; namespace: string },
  work: (deps: InstallerDeps) => Promise<void>,
): Promise<void> {
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort(new OperatorError('ERR_ABORTED', 'interrupted')));
  const client = createKubeClient({ kubeconfig, context, userAgent });
  try {
    say(`cluster ${client.server}, namespace ${namespace}`);
    await work({ client, clock: systemClock, signal: abort.signal });
  } finally {
    await client.close();
  }
}
