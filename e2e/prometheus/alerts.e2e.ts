/** The alerts that we ship, run by promtool: each fires on its problem, and not on series that come close to it. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { findPrometheus } from './programs.ts';

interface Rule {
  readonly alert: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}
type Series = readonly (readonly [series: string, values: string])[];

/** Samples are a minute apart, from 1970 on; values are in promtool's notation. */
interface Case {
  readonly at: string;
  /** Labels of the alert other than those of its rule. */
  readonly labels: Record<string, string>;
  readonly fires: Series;
  /** Series that end before, because the pods that had them are gone. The alert fires on them, too. */
  readonly gone?: Series;
  /** Series that come close to the problem, but are fine. */
  readonly quiet: Series;
}

const node = { k8s_node_name: 'node-1' };
const namespace = { namespace: 'svc-system' };
const minter = { namespace: 'pay', job: 'minter' };
const text = (labels: Record<string, string>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',');
/** A metric with one series that has the labels of the alert. */
const one = (metric: string, labels: Record<string, string>, at: string, fires: string, quiet: string): Case => {
  const series = `${metric}{${text(labels)}}`;
  return { at, labels, fires: [[series, fires]], quiet: [[series, quiet]] };
};
/** Requests by code, a hundred a minute, of which `failed` fail. */
const codes = (metric: string, labels: Record<string, string>, failed: number): Series => [
  [`${metric}{${text({ ...labels, code: '503' })}}`, `0+${failed}x60`],
  [`${metric}{${text({ ...labels, code: '200' })}}`, `0+${100 - failed}x60`],
];
/** Durations of a hundred requests a minute, of which `count` take longer than 2.5 s. */
const slow = (count: number): Series =>
  (['1', '2.5', '5', '+Inf'] as const).map((le) => [
    `minter_http_request_duration_seconds_bucket{${text({ ...minter, path: '/token', le })}}`,
    `0+${le === '1' || le === '2.5' ? 100 - count : 100}x60`,
  ]);
/** Series of a metric by pod. */
const byPod =
  (metric: string, labels: Record<string, string>) =>
  (pods: Readonly<Record<string, string>>): Series =>
    Object.entries(pods).map(([pod, values]) => [`${metric}{${text({ ...labels, pod })}}`, values]);
const leaders = byPod('leader_election_master_status', { ...namespace, name: 'svc-controller' });
const queryServers = byPod('svc_query_missing_agents', namespace);
const remaining = byPod('minter_platform_rate_limit_remaining', minter);
const notStated = Array(20).fill('NaN').join(' ');
const mints = byPod('minter_mints_total', { ...minter, result: 'allow' });

const cases: Readonly<Record<string, Case>> = {
  SvcAgentMissing: one('svc_query_missing_agents', namespace, '15m', '1x30', '1x8 0x30'),
  SvcCaptureStopped: one('svc_instrument_up', node, '10m', '0x30', '0x3 1x30'),
  SvcInstrumentRestarts: one('svc_instrument_restarts_total', node, '60m', '0+1x60', '0x30 5x30'),
  SvcSeriesLimited: one('svc_series_limit_hits_total', { ...node, scope: 'namespace' }, '40m', '0+1x60', '7x60'),
  SvcStoreCannotWrite: one('svc_tsdb_write_error', node, '5m', '1x10', '0x10'),
  SvcIntakeRefused: one('svc_otlp_rejected_total', { ...node, reason: 'malformed' }, '40m', '0+1x60', '7x60'),
  SvcExportBehind: one('svc_export_dropped_total', { ...node, destination: 'store' }, '20m', '0+1x60', '7x60'),
  // The alert fires with four days left, and not with eleven.
  SvcAgentCertificateEnds: one('svc_cert_expiry_timestamp_seconds', node, '2h', '350000x180', '950000x180'),
  SvcAnswersDegraded: one('svc_query_degraded_total', namespace, '40m', '0+1x60', '7x60'),
  SvcQueriesFail: {
    at: '30m',
    labels: namespace,
    fires: codes('svc_query_duration_seconds_count', namespace, 10),
    quiet: codes('svc_query_duration_seconds_count', namespace, 4),
  },
  SvcNoQueryServer: {
    at: '10m',
    labels: namespace,
    fires: queryServers({ a: '0x3 stale', b: '1x2 stale' }),
    quiet: queryServers({ a: '0x3 stale', b: '0x20' }),
  },
  SvcConfigNotAcknowledged: one(
    'svc_controller_capture_nodes',
    { ...namespace, state: 'behind' },
    '20m',
    '2x40',
    '2x10 0x40',
  ),
  SvcConfigFails: {
    at: '10m',
    labels: namespace,
    fires: [[`svc_controller_capture_nodes{${text({ ...namespace, state: 'failed' })}}`, '1x20']],
    quiet: [[`svc_controller_capture_nodes{${text({ ...namespace, state: 'behind' })}}`, '1x20']],
  },
  SvcReconcilesFail: one(
    'controller_runtime_reconcile_errors_total',
    { ...namespace, controller: 'platform' },
    '40m',
    '0+12x60',
    '0+1x60',
  ),
  SvcQueueGrows: one('workqueue_depth', { ...namespace, name: 'platform' }, '20m', '150x40', '99x40'),
  SvcNoLeader: {
    at: '10m',
    labels: { ...namespace, name: 'svc-controller' },
    fires: leaders({ a: '0x20', b: '0x20' }),
    gone: leaders({ a: '1x3 stale', b: '0x3 stale' }),
    // The operators of others have the same metric, by another name.
    quiet: [
      ...leaders({ a: '1x3 stale', b: '0x4 1x20', c: '_x4 0x20' }),
      ...byPod('leader_election_master_status', { ...namespace, name: 'other' })({ x: '1x3 stale' }),
    ],
  },
  // The alert fires with eight days left, and not with eleven.
  SvcCertificateEnds: one(
    'svc_controller_cert_expiry_timestamp_seconds',
    { ...namespace, secret: 'svc-query-tls' },
    '2h',
    '700000x180',
    '960000x180',
  ),
  MinterErrors: {
    at: '30m',
    labels: minter,
    fires: codes('minter_http_requests_total', { ...minter, path: '/token' }, 10),
    quiet: codes('minter_http_requests_total', { ...minter, path: '/token' }, 4),
  },
  MinterSlow: { at: '30m', labels: minter, fires: slow(5), quiet: slow(0) },
  MinterNotReady: one('minter_ready', { namespace: 'pay', pod: 'minter-0', check: 'key' }, '5m', '0x10', '1x10'),
  MinterRulesFaulty: {
    at: '5m',
    labels: minter,
    fires: [[`minter_rule_scopes{${text({ ...minter, state: 'faulty' })}}`, '1x10']],
    quiet: [[`minter_rule_scopes{${text({ ...minter, state: 'ok' })}}`, '1x10']],
  },
  MinterNoMints: {
    at: '600m',
    labels: minter,
    fires: mints({ a: '0+1x60 60x600' }),
    gone: mints({ a: '0+1x60 stale' }),
    // The pod that replaced the other one has minted once, five hours ago.
    quiet: mints({ a: '0+1x60 stale', b: '_x60 0x240 1x300' }),
  },
  MinterPlatformQuotaLow: {
    at: '10m',
    labels: minter,
    // To pods that have no number, the platform has stated no limit.
    fires: remaining({ a: notStated, b: '100x20', c: notStated }),
    quiet: remaining({ a: notStated, b: '4000x20', c: notStated }),
  },
};

let dir: string;
let promtool: string;
const groups: { name: string; rules: Rule[] }[] = [];

beforeAll(async () => {
  ({ promtool } = await findPrometheus());
  dir = await mkdtemp(join(tmpdir(), 'svc-alerts-'));
  for (const file of ['alerts.yaml', 'minter-alerts.yaml']) {
    const path = join(import.meta.dirname, '../../config/prometheus', file);
    groups.push(...(parse(await readFile(path, 'utf8')) as { spec: { groups: typeof groups } }).spec.groups);
  }
  // JSON is YAML.
  await writeFile(join(dir, 'rules.yaml'), JSON.stringify({ groups }));
}, 600_000);
afterAll(() => rm(dir, { recursive: true }));

function run(...args: string[]): { code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(promtool, args, { cwd: dir, encoding: 'utf8', timeout: 120_000 });
  return { code: status, said: `${stdout}${stderr}` };
}

const rules = (): Rule[] => groups.flatMap((group) => group.rules);

test('promtool accepts the rules, and every rule has a case here', () => {
  expect(run('check', 'rules', '--lint=all', '--lint-fatal', 'rules.yaml')).toMatchObject({ code: 0 });
  expect(Object.keys(cases)).toEqual(rules().map(({ alert }) => alert));
});

test.each(Object.entries(cases))(
  '%s fires on its problem, and not on series that are fine',
  async (alert, { at, labels, fires, gone, quiet }) => {
    const rule = rules().find((one) => one.alert === alert)!;
    const filled = (template: string): string =>
      template.replaceAll(/{{ \$labels\.(\w+) }}/g, (_all, name: string) => labels[name] ?? '').trim();
    const annotations = Object.fromEntries(
      Object.entries(rule.annotations).map(([name, value]) => [name, filled(value)]),
    );
    const expected = [{ exp_labels: { ...rule.labels, ...labels }, exp_annotations: annotations }];
    const stage = (series: Series, exp_alerts: unknown[]) => ({
      interval: '1m',
      input_series: series.map(([name, values]) => ({ series: name, values })),
      alert_rule_test: [{ alertname: alert, eval_time: at, exp_alerts }],
    });
    const tests = {
      rule_files: ['rules.yaml'],
      evaluation_interval: '1m',
      tests: [...[fires, ...(gone ? [gone] : [])].map((series) => stage(series, expected)), stage(quiet, [])],
    };
    await writeFile(join(dir, `${alert}.yaml`), JSON.stringify(tests));
    const { code, said } = run('test', 'rules', `${alert}.yaml`);
    expect({ code, said: code === 0 ? '' : said }).toEqual({ code: 0, said: '' });
  },
);
