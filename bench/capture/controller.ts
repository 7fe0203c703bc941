/** The controller's side of `bench/capture.ts`, in a process of its own so that its CPU and memory are its own. */
import { systemClock } from '../../src/base/clock.ts';
import { createKubeClient } from '../../src/kube/index.ts';
import { startCaptureOperator } from '../../src/testing/capture/operator.ts';

const [server = '', agentPort = ''] = process.argv.slice(2);
const client = createKubeClient({ server });
const operator = startCaptureOperator({
  client,
  clock: systemClock,
  agentPort: Number(agentPort),
  // No limit: the benchmark measures how an edit travels, not how long the restart budget makes its namespace wait.
  restartBudget: { burst: Infinity, refillMs: 1 },
});

/** What this process has used so far. */
export interface Usage {
  cpuMs: number;
  rssMiB: number;
}

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const usage: Usage = {
    cpuMs: (user + system) / 1_000,
    rssMiB: process.memoryUsage.rss() / 1024 ** 2,
  };
  process.send!(usage);
});
process.once('disconnect', () => {
  void operator.stop().then(() => client.close());
});
