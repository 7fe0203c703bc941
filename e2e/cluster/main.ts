import { parseArgs } from 'node:util';
import { findBinaries } from './binaries.ts';
import { startCluster } from './cluster.ts';
import { onInterrupt } from './interrupt.ts';

const help = `usage: node e2e/cluster/main.ts [--nodes N] [--dir DIR] [--keep] [--fsync]

Starts a real Kubernetes control plane and N process nodes on this machine, in the foreground.
Prints the path of an admin kubeconfig on stdout; Ctrl-C stops everything.

  --nodes N   process nodes to start (default 3)
  --dir DIR   an empty or new folder for data and logs; kept at the end (default: a temporary one)
  --keep      keep the temporary folder
  --fsync     let etcd wait for the disk
  --help      this text
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: '3' },
      dir: { type: 'string' },
      keep: { type: 'boolean', default: false },
      fsync: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const nodes = Number(values.nodes);
  if (!Number.isInteger(nodes) || nodes < 0 || nodes > 50) throw new Error('--nodes must be a number from 0 to 50');
  const interrupted = new Promise<void>((resolve) => onInterrupt(resolve));
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const cluster = await Promise.race([
    findBinaries({ log, published: true }).then((binaries) =>
      startCluster({
        nodes,
        log,
        binaries,
        fsync: values.fsync,
        keep: values.keep,
        ...(values.dir === undefined ? {} : { dir: values.dir }),
      }),
    ),
    interrupted,
  ]);
  // Interrupted during the start: the run's reaper, a process of its own, releases what was taken so far.
  if (!cluster) process.exit(130);
  process.stdout.write(`${cluster.kubeconfig}\n`);
  log(`export KUBECONFIG=${cluster.kubeconfig}   (kubectl: ${cluster.binaries.kubectl})   Ctrl-C stops`);
  await interrupted;
  log('stopping');
  await cluster.stop();
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
