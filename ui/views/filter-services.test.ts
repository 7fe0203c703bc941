import type { ServiceSummary } from '../../src/api/page/types.ts';
import { filterServices } from './filter-services.ts';

const service = (namespace: string, workload: string, rest: Partial<ServiceSummary> = {}): ServiceSummary => ({
  ...{ namespace, workload, workloadKind: 'Deployment', nodes: ['node-1'], requestRate: 1, errorShare: 0 },
  ...{ p50Ms: 1, p99Ms: 2, sparkline: { stepSeconds: 60, requestRate: [], errorShare: [] } },
  ...{ monitors: ['m'], captured: true, why: null, ...rest },
});
const all = [
  service('shop', 'catalog'),
  service('shop', 'checkout', { errorShare: 0.2, nodes: ['node-2'] }),
  service('pay', 'shop-gateway', { captured: false, monitors: [], errorShare: null }),
  service('pay', 'ledger', { monitors: null }),
  service('pay', 'bank', { monitors: [] }),
];
const everything = ['catalog', 'checkout', 'shop-gateway', 'ledger', 'bank'];

test.each([
  ['', everything],
  ['SHOP', ['catalog', 'checkout', 'shop-gateway']],
  ['ns:shop', ['catalog', 'checkout']],
  ['shop/che', ['checkout']],
  ['node:node-2', ['checkout']],
  ['is:failing', ['checkout']],
  ['is:uncaptured', ['shop-gateway']],
  ['is:unmonitored ns:shop', []],
  ['is:unmonitored', ['shop-gateway', 'bank']],
  ['is:fai', everything],
  ['catalog checkout', []],
])('the filter %p leaves %p', (text, left) => {
  expect(filterServices(all, text).map(({ workload }) => workload)).toEqual(left);
});
