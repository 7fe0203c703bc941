import { minterCheckReasons } from './minter-readiness.ts';
import { clusterTrafficPolicyConditions, minterDeploymentConditions, trafficMonitorConditions } from './index.ts';

interface Row {
  good: string;
  about: string;
  reasons: Record<string, string>;
}
const tables: [string, Record<string, Row>][] = [
  ['TrafficMonitor', trafficMonitorConditions],
  ['ClusterTrafficPolicy', clusterTrafficPolicyConditions],
  ['MinterDeployment', minterDeploymentConditions],
];

describe.each(tables)('the conditions of a %s', (_, table) => {
  test('are named in CamelCase, types and reasons', () => {
    const names = Object.entries(table).flatMap(([type, { reasons }]) => [type, ...Object.keys(reasons)]);
    expect(names.filter((name) => !/^[A-Z][A-Za-z0-9]+$/.test(name))).toEqual([]);
  });

  test('are explained in sentences', () => {
    const sentences = Object.values(table).flatMap(({ about, reasons }) => [about, ...Object.values(reasons)]);
    expect(sentences.filter((sentence) => !/^[A-Z].*\.$/.test(sentence))).toEqual([]);
  });

  test('have Ready, Reconciling and Stalled with the polarity that kstatus expects', () => {
    expect(table).toMatchObject({
      Ready: { good: 'True' },
      Reconciling: { good: 'False' },
      Stalled: { good: 'False' },
    });
  });

  test('fit into the list that the schema allows', () => {
    expect(Object.keys(table).length).toBeLessThanOrEqual(16);
  });
});

test('every reason that a minter pod may report is documented', () => {
  expect(Object.keys(minterCheckReasons)).not.toHaveLength(0);
  for (const [type, reasons] of Object.entries(minterCheckReasons)) {
    expect(reasons).not.toHaveLength(0);
    const table = minterDeploymentConditions[type as keyof typeof minterCheckReasons];
    expect(Object.keys(table.reasons)).toEqual(expect.arrayContaining([...reasons]));
  }
});
