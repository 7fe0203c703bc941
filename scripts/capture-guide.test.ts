import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { trafficMonitorConditions, trafficMonitorKind } from '../src/api/v1alpha1/index.ts';

const guide = readFileSync(join(import.meta.dirname, '../docs/guides/capture.md'), 'utf8');
const line = (pattern: RegExp): string => pattern.exec(guide)?.[0] ?? '';
const conditionsIn = (text: string): string[] =>
  [...new Set([...text.matchAll(/`(\w+)`/g)].map(([, word = '']) => word))].filter(
    (word) => word in trafficMonitorConditions,
  );

test('the guide to capture names the conditions that `kubectl get tm` prints, and those that `-o wide` adds', () => {
  const columns = trafficMonitorKind.columns.filter((column) => 'condition' in column);
  const printed = (wide: boolean): string[] =>
    columns.filter((c) => (c.wide ?? false) === wide).map(({ name }) => name);
  const [shown = '', wide = ''] = line(/^`kubectl get tm -A` shows .*$/m).split('`-o wide`');
  expect([conditionsIn(shown), conditionsIn(wide)]).toEqual([printed(false), printed(true)]);
});

test('the guide to capture says of every condition of a monitor whether `Ready` follows it', () => {
  expect(conditionsIn(line(/^`Ready` repeats .*$/m)).toSorted()).toEqual(
    Object.keys(trafficMonitorConditions)
      .filter((type) => !['Reconciling', 'Stalled'].includes(type))
      .toSorted(),
  );
});
