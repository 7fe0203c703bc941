import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../../base/logger.ts';
import type { Labels } from '../../../promql/index.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { until } from '../../../testing/until.ts';
import { watchRules, type WatchedRules } from './watch-rules.ts';

const rules = `
rules:
  - seriesQuery: '{__name__=~"jobs|mails"}'
    resources: {template: "<<.Resource>>"}
    metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
`;
const seriesOf = (name: string, label = 'namespace'): Labels => [
  ['__name__', name],
  [label, 'x'],
];

let dir: string;
let file: string;
let log: string[];
let clock: FakeClock;
let stopped: AbortController;
let found: Labels[];
let missingNodes: string[];
let broken: boolean;
let synced: boolean;
let asked: number;
let held: Promise<void> | undefined;
let watched: WatchedRules;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rules-'));
  file = join(dir, 'rules.yaml');
  writeFileSync(file, rules);
  [log, clock, stopped] = [[], new FakeClock(), new AbortController()];
  [found, missingNodes, broken, synced, asked, held] = [[seriesOf('jobs')], [], false, true, 0, undefined];
});
afterEach(() => {
  stopped.abort();
  rmSync(dir, { recursive: true });
});

function start(): void {
  watched = watchRules({
    ...{ file, clock, signal: stopped.signal, logger: createLogger({ write: (line) => void log.push(line) }) },
    directory: {
      get synced() {
        return synced;
      },
    },
    series: async () => {
      asked++;
      await held;
      if (broken) throw new Error('too many series');
      return { result: found, missingNodes };
    },
  });
}
const next = async (what: string, holds: () => boolean, ms = 30_000): Promise<void> => {
  await clock.advance(ms);
  await until(what, holds);
};
const names = (): string =>
  watched
    .metrics()
    .custom.map(({ metric, labels }) => `${metric}(${[...labels.keys()].sort().join()})`)
    .sort()
    .join();

test('while the rules are invalid, the last valid ones stay in force and their series are looked up', async () => {
  start();
  await until('the first metrics', () => names() === 'jobs(namespaces)');
  writeFileSync(file, 'rules: 7');
  found = [];
  await next('metrics of the present series', () => names() === '');
  found = [seriesOf('jobs')];
  await next('metrics of the present series', () => names() === 'jobs(namespaces)');
  expect(log.filter((line) => line.includes('rules not read'))).toHaveLength(1);
  writeFileSync(file, `${rules}externalRules: []\n`);
  await next('the mended rules', () => log.filter((line) => line.includes('rules read')).length === 2);
});

test('keys of the rules that take no effect are logged once for each edit', async () => {
  const warnings = (): string[] => log.filter((line) => line.includes('some keys of the rules take no effect'));
  writeFileSync(file, rules.replace('template:', 'namespacd: false, template:'));
  start();
  await until('the series are known', () => names() !== '');
  expect(warnings()).toEqual([expect.stringContaining('rules[0].resources.namespacd')]);
  await next('a second look', () => asked === 2);
  expect(warnings()).toHaveLength(1);
  writeFileSync(file, rules);
  await next('a third look', () => asked === 3);
  expect(warnings()).toHaveLength(1);
});

test('series are looked for as soon as the agents are listed, and until then the rules are not ready', async () => {
  synced = false;
  start();
  await until('the wait for the agents', () => clock.pending > 0);
  await clock.advance(10_000);
  expect([asked, watched.notReady()]).toEqual([0, expect.stringContaining('rules')]);
  synced = true;
  await next('the first metrics', () => names() === 'jobs(namespaces)', 1_000);
  expect(watched.notReady()).toBeUndefined();
});

test('a failed look is repeated after a second, and then after growing times', async () => {
  broken = true;
  start();
  await until('the first look', () => asked === 1 && clock.pending > 0);
  expect(watched.notReady()).toContain('rules');
  broken = false;
  await next('the first metrics', () => names() === 'jobs(namespaces)', 1_000);
  expect(watched.notReady()).toBeUndefined();
  broken = true;
  await next('a failed look', () => asked === 3);
  await next('the next one', () => asked === 4, 1_000);
  await clock.advance(1_000);
  expect(asked).toBe(4);
  await next('the third one', () => asked === 5, 1_000);
  expect(names()).toBe('jobs(namespaces)');
});

test('rules whose query is refused for good keep the server from being ready for half a minute only', async () => {
  broken = true;
  start();
  await until('the first look', () => asked === 1 && clock.pending > 0);
  await clock.advance(29_000);
  expect(watched.notReady()).toContain('rules');
  await clock.advance(1_001);
  expect(watched.notReady()).toBeUndefined();
});

test('without rules in the file, nothing is waited for', async () => {
  writeFileSync(file, 'rules: []');
  synced = false;
  start();
  await until('readiness', () => watched.notReady() === undefined);
});

test('an answer that lacks nodes takes no metric away', async () => {
  found = [seriesOf('jobs'), seriesOf('mails')];
  start();
  await until('the first metrics', () => names() === 'jobs(namespaces),mails(namespaces)');
  [found, missingNodes] = [[seriesOf('jobs', 'pod')], ['node-2']];
  await next('the kinds of both answers', () => names() === 'jobs(namespaces,pods),mails(namespaces)');
  missingNodes = [];
  await next('the metrics of the whole answer', () => names() === 'jobs(pods)', 1_000);
});

test('rules that were edited apply once their series are known, and until then the old ones stay', async () => {
  start();
  await until('the first metrics', () => names() === 'jobs(namespaces)');
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  writeFileSync(file, `${rules}    name: {as: 'all_$0'}\n`);
  await next('the look by the new rules', () => asked === 2);
  expect([names(), watched.notReady()]).toEqual(['jobs(namespaces)', undefined]);
  resolve();
  await until('the new metrics', () => names() === 'all_jobs(namespaces)');
});

test('an edit of other rules takes no metric away, not even of a rule whose series cannot be read', async () => {
  start();
  await until('the first metrics', () => names() === 'jobs(namespaces)');
  broken = true;
  const other = "  - {metricsQuery: 'sum(<<.Series>>)', seriesQuery: mails}\n";
  writeFileSync(file, rules.replace('rules:\n', `rules:\n${other}`));
  await next('the first look by the new rules', () => asked === 3);
  const atFirst = clock.monotonic();
  await until('looks beyond the patience', async () => {
    const before = asked;
    await next('another look', () => asked > before);
    return clock.monotonic() - atFirst > 60_000;
  });
  expect(names()).toBe('jobs(namespaces)');
  broken = false;
  found = [];
  await next('an answer', () => names() === '');
});

test('a rule that was edited and whose series cannot be read loses its metrics after half a minute', async () => {
  start();
  await until('the first metrics', () => names() === 'jobs(namespaces)');
  broken = true;
  writeFileSync(file, rules.replace('jobs|mails', 'jobs'));
  await next('the first look by the new rules', () => asked === 2);
  await clock.advance(29_000);
  expect(names()).toBe('jobs(namespaces)');
  await next('the end of the patience', () => names() === '', 3_000);
});

test('a first answer that lacks nodes is waited out for half a minute, as one that failed', async () => {
  missingNodes = ['node-2'];
  start();
  await until('the first look', () => names() === 'jobs(namespaces)' && clock.pending > 0);
  expect(watched.notReady()).toContain('rules');
  missingNodes = [];
  await next('a whole answer', () => watched.notReady() === undefined, 1_000);
});

test('a node that stays lost keeps the server from being ready for half a minute only', async () => {
  missingNodes = ['node-2'];
  start();
  await until('the first look', () => asked === 1 && clock.pending > 0);
  await clock.advance(29_000);
  expect(watched.notReady()).toContain('rules');
  await clock.advance(1_001);
  expect([names(), watched.notReady()]).toEqual(['jobs(namespaces)', undefined]);
});
