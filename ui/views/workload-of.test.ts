import { fixtureServices, fixtureTopology, small } from '../../e2e/page/fixture.ts';
import { summaryOf, workloadNodeOf } from './workload-of.ts';

const [service] = fixtureServices(small);
const { nodes } = fixtureTopology(small);
const own = { namespace: 'shop', name: 'gateway', kind: 'Deployment' };

test('two workloads of one name are distinguished by their kinds', () => {
  const other = { ...service!, workloadKind: 'DaemonSet' };
  expect(summaryOf([other, service!], own)).toBe(service);
  expect(summaryOf([other, service!], { ...own, kind: 'DaemonSet' })).toBe(other);
  expect(summaryOf([other, service!], { ...own, kind: 'StatefulSet' })).toBe(undefined);
});

test('a URL without a kind names the first workload of that name', () => {
  expect(summaryOf([service!], { ...own, kind: '' })).toBe(service);
  expect(summaryOf([service!], { ...own, kind: '', namespace: 'pay' })).toBe(undefined);
});

test('a Service of the same name is not the workload', () => {
  const found = nodes.find(({ name, namespace }) => name === 'gateway' && namespace === 'shop')!;
  const ofService = { ...found, id: 'service/shop/gateway', kind: 'service', workloadKind: '' } as const;
  const daemon = { ...found, id: 'workload/shop/DaemonSet/gateway', workloadKind: 'DaemonSet' };
  const all = [ofService, daemon, ...nodes];
  expect(workloadNodeOf(all, own)).toBe(found);
  expect(workloadNodeOf(all, { ...own, kind: '' })).toBe(daemon);
  expect(workloadNodeOf([ofService], { ...own, kind: '' })).toBe(undefined);
});
