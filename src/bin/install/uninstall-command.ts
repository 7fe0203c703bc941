import type { Command } from 'commander';
import { parseDuration } from '../../base/duration.ts';
import { platformDefaults } from '../../render/index.ts';
import { clusterOptions, onCluster, outliveReaders, say, type ClusterFlags } from './on-cluster.ts';
import { uninstall } from './uninstaller.ts';

interface Flags extends ClusterFlags {
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
    .option(
      '--delete-data',
      "remove the agents' data too, from every node where agents may run; nodes left out keep theirs",
      false,
    )
    .option('--keep-crds', 'keep the CRDs, and with them every TrafficMonitor, policy and MinterDeployment', false)
    .option('--dry-run', 'say what would go, change nothing', false)
    .option('--timeout <duration>', 'how long it may take', '5m')
    .action(async (flags: Flags) => {
      outliveReaders();
      const timeoutMs = parseDuration(flags.timeout, '--timeout');
      await onCluster(flags, { userAgent: 'svc-uninstall', namespace: flags.namespace }, (deps) =>
        uninstall({ ...flags, timeoutMs, progress: say }, deps),
      );
      if (!flags.dryRun && !flags.deleteData)
        say(`data on the nodes stays in ${platformDefaults.agentDataHostPath} unless set otherwise`);
    });
}
