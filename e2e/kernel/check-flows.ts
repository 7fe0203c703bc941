import { until } from '../../src/testing/until.ts';
import type { Check } from './check.ts';
import { watched } from './check-requests.ts';
import type { KernelStage } from './stage.ts';

/** The size of the one request body whose flow is checked. Units: bytes. */
const lump = 2_000_000;

async function flowsTo(stage: KernelStage, server: string): Promise<number> {
  const found = (await stage.series('ebpf_network_flow_bytes')).filter(
    ({ labels: l }) => l['k8s_src_owner_name'] === 'client' && l['k8s_dst_owner_name'] === server,
  );
  const wrong = found.find(({ labels: l }) => l['k8s_src_namespace'] !== 'shop' || l['k8s_dst_namespace'] !== 'shop');
  if (wrong) throw new Error(JSON.stringify(wrong.labels));
  return found.reduce((sum, { value }) => sum + value, 0);
}

/** Checks that flows name both ends and count the bytes. */
export const flows: readonly Check[] = [
  {
    what: 'there is a flow from the client to each server, and both ends have their names',
    run: (stage) =>
      until(
        'a flow to each server',
        async () => {
          const bytes = await Promise.all(watched.map((name) => flowsTo(stage, name)));
          const without = watched.filter((_name, i) => !(bytes[i]! > 0));
          if (without.length > 0) throw new Error(`none to ${without.join(', ')}`);
          return `${bytes.length} flows`;
        },
        stage.patience(20_000),
      ),
  },
  {
    what: `a flow of ${lump} bytes is counted as that, with the headers of its packets on top`,
    run: async (stage) => {
      const before = await flowsTo(stage, 'go');
      await stage.send('go', [{ method: 'POST', path: '/orders', route: '/orders', count: 1, bytes: lump }]);
      return until(
        'the bytes',
        async () => {
          const more = (await flowsTo(stage, 'go')) - before;
          if (more > 1.1 * lump) throw new Error(`${more} bytes are too many`);
          return more >= lump && `${more} bytes`;
        },
        stage.patience(20_000),
      );
    },
  },
];
