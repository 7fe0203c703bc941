import { aMonitor, aPod, aWorld } from '../../testing/capture/world.ts';
import type { IndexedPod } from '../addresses/address-index.ts';
import { explainWorkload } from './explain-workload.ts';

test('a pod of which only spans are captured is not blamed for the series that it cannot have', () => {
  const monitors = [aMonitor('shop/m', { selector: {}, ports: [{ port: 9 }], signals: { metrics: 'Disabled' } })];
  const address = { uid: 'u', ips: [], hostNetwork: false, fromMs: 0, ended: false };
  const ports = [{ container: 'main', port: 9_000 }];
  const pod: IndexedPod = { ...aPod('shop/checkout-1', 'node-1'), ...address, ports };
  const around = { input: aWorld({ monitors }), missing: () => undefined, series: new Map<string, number>() };
  const { steps } = explainWorkload([pod], around).pods[0]!;
  expect(
    steps.filter(({ answer }) => answer !== 'yes').map(({ asks, answer, fact }) => `${asks} ${answer}: ${fact}`),
  ).toEqual([
    'port note: 9000 (main) is not among 9,80,443,8080,8443',
    'data unknown: metrics are off, so the pod has no series; kubectl svc observe --pod shop/checkout-1 shows spans',
  ]);
});
