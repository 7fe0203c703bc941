import { until } from '../../src/testing/until.ts';
import type { Check } from './check.ts';
import { attached, watched } from './check-requests.ts';
import type { KernelStage } from './stage.ts';
import { warmUp } from './traffic.ts';

/** A port without a listener: connections to it are refused. */
const closedPort = 7;
const refusals = 3;
/** Connections that the client opens for one request each. */
const ended = 5;

/** The sum of a metric over the connections between the client and a server, in both directions. */
async function statistic(stage: KernelStage, metric: string, server: string): Promise<number> {
  const ends = new Set(['client', server]);
  return (await stage.series(metric))
    .filter(({ labels: l }) => ends.has(l['k8s_src_owner_name']!) && ends.has(l['k8s_dst_owner_name']!))
    .filter(({ labels: l }) => l['k8s_src_owner_name'] !== l['k8s_dst_owner_name'])
    .reduce((sum, { value }) => sum + value, 0);
}

/** Checks of TCP statistics, which the instrument reads at other places in the kernel than requests. */
export const tcp: readonly Check[] = [
  {
    what: 'a monitor also names TCP statistics: the instrument accepts its file, and requests are still counted',
    run: async (stage) => {
      stage.monitor('shop', {
        selector: { matchLabels: { tier: 'shop' } },
        metrics: { families: ['HTTPServer', 'HTTPClient', 'TCPStats'] },
      });
      const message = await stage.condition('shop', 'Programmed', 'True/Programmed');
      for (const name of watched) await attached(stage, name);
      return message;
    },
  },
  {
    what: `${ended} closed connections have a round-trip time on either side, and the names of both sides`,
    real: true,
    run: async (stage) => {
      const before = await statistic(stage, 'ebpf_stat_tcp_rtt_count', 'go');
      await stage.send('go', [{ ...warmUp[0]!, count: ended, closes: true }]);
      return until(
        'round trips',
        async () => {
          const count = (await statistic(stage, 'ebpf_stat_tcp_rtt_count', 'go')) - before;
          if (count !== 2 * ended) throw new Error(`${count} of ${2 * ended}`);
          const seconds = await statistic(stage, 'ebpf_stat_tcp_rtt_sum', 'go');
          if (seconds <= 0 || seconds / (before + count) > 1) throw new Error(`${seconds} s in ${before + count}`);
          return `${count} round trips, ${((seconds / (before + count)) * 1e6).toFixed(0)} µs each`;
        },
        stage.patience(20_000),
      );
    },
  },
  {
    what: `${refusals} connections that are refused are counted as failed`,
    real: true,
    run: async (stage) => {
      const metric = 'ebpf_stat_tcp_failed_connections';
      const before = await statistic(stage, metric, 'python');
      for (let i = 0; i < refusals; i++) {
        const error = await stage.send('python', warmUp, closedPort).then(
          () => 'it was answered',
          (reason: unknown) => (reason as Error).message,
        );
        if (!error.includes('ECONNREFUSED')) throw new Error(error);
      }
      return until(
        'the failed connections',
        async () => {
          const more = (await statistic(stage, metric, 'python')) - before;
          if (more !== refusals) throw new Error(`${more} of ${refusals}`);
          return String(more);
        },
        stage.patience(20_000),
      );
    },
  },
];
