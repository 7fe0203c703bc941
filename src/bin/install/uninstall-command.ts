import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { parseDuration } from '../../base/duration.ts';
import { OperatorError } from '../../base/errors.ts';
import { createKubeClient } from '../../kube/index.ts';
import { platformDefaults } from '../../render/index.ts';
import { clusterOptions } from './install-command.ts';
import { uninstall } from './uninstaller.ts';

interface Flags {
  kubeconfig?: string;
  context?: string;
  namespace: string;
  deleteData: boolean;
  keepCrds: boolean;
  dryRun: boolean;
  timeout: string;
}

/** `svc uninstall`: removes an installation, whichever way it was made. Progress goes to stderr. */
export function uninstallCommand(command: Command): Command {
  return clusterOptions(command)
    .option('--namespace <name>', 'namespace of the operator', platformDefaults.namespace)
    .option('--delete-data', "remove the agents' data from every node too", false)
    .option('--keep-crds', 'keep the CRDs, and with them every TrafficMonitor, policy and MinterDeployment', false)
    .option('--dry-run', 'say what would go, change nothing', false)
    .option('--timeout <duration>', 'how long it may take', '5m')
    .action(async (flags: Flags) => {
      const abort = new AbortController();
      process.once('SIGINT', () => abort.abort(new OperatorError('ERR_ABORTED', 'interrupted')));
      const { kubeconfig, context } = flags;
      const client = createKubeClient({ kubeconfig, context, userAgent: 'svc-uninstall' });
      const progress = (line: string): void => void process.stderr.write(`${line}\n`);
      try {
        progress(`cluster ${client.server}, namespace ${flags.namespace}`);
        const timeoutMs = parseDuration(flags.timeout, '--timeout');
        await uninstall({ ...flags, timeoutMs, progress }, { client, clock: systemClock, signal: abort.signal });
        if (!flags.dryRun && !flags.deleteData)
          progress(`data on the nodes stays in ${platformDefaults.agentDataHostPath} unless set otherwise`);
      } finally {
        await client.close();
      }
    });
}
