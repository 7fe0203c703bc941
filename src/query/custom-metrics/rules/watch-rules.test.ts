import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../../base/logger.ts';
import type { Labels } from '../../../promql/index.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { until } from '../../../testing/until.ts';
import { watchRules } from './watch-rules.ts';

const rules = `
rules:
  - seriesQuery: 'jobs'
    resources: {template: "<<.Resource>>"}
    metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
`;
const seriesOf = (namespace: string): Labels => [
  ['__name__', 'jobs'],
  ['namespace', namespace],
];

test('while the rules are invalid, the last valid ones stay in force and their series are looked up', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'rules-'));
  const file = join(dir, 'rules.yaml');
  const log: string[] = [];
  const clock = new FakeClock();
  const stopped = new AbortController();
  let found = [seriesOf('shop')];
  writeFileSync(file, rules);
  const metrics = watchRules({
    ...{ file, clock, signal: stopped.signal, logger: createLogger({ write: (line) => void log.push(line) }) },
    series: async () => found,
  });
  const next = async (what: string, holds: () => boolean): Promise<void> => {
    await clock.advance(30_000);
    await until(what, holds);
  };
  await until('the first metrics', () => metrics().custom.length === 1);
  writeFileSync(file, 'rules: 7');
  found = [];
  await next('metrics of the present series', () => metrics().custom.length === 0);
  found = [seriesOf('shop')];
  await next('metrics of the present series', () => metrics().custom.length === 1);
  expect(log.filter((line) => line.includes('rules not read'))).toHaveLength(1);
  writeFileSync(file, `${rules}externalRules: []\n`);
  await next('the mended rules', () => log.filter((line) => line.includes('rules read')).length === 2);
  stopped.abort();
  rmSync(dir, { recursive: true });
});
