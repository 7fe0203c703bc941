/** The views over 50 nodes and 500 workloads. Each agent has a store of its own and answers over its real protocols. */
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { AddressIndex } from '../../src/query/addresses/address-index.ts';
import { startQueryStage, type QueryStage } from '../../src/testing/query/query-stage.ts';
import { needing } from '../../src/testing/needs.ts';
import { until } from '../../src/testing/until.ts';
import { percent, perSecond } from '../../ui/parts/format.ts';
import { browserNeed } from './browser.ts';
import { openTab, startBrowser, type Tab } from './tab.ts';

const pageDir = fileURLToPath(new URL('../../dist/ui', import.meta.url));
const nodes = Array.from({ length: 50 }, (_, i) => `node-${i}`);
const workloads = Array.from({ length: 500 }, (_, i) => ({
  namespace: `team-${Math.floor(i / 25)}`,
  name: `service-${i}`,
  ip: `10.${Math.floor(i / 250)}.0.${(i % 250) + 1}`,
  node: nodes[i % nodes.length]!,
}));
/** Each workload calls four others: the next three, and one of another namespace. */
const calls = workloads.flatMap((source, i) =>
  [1, 2, 3, 137].map((step) => ({ source, target: workloads[(i + step) % workloads.length]! })),
);
const every = 60_000;
const now = Math.floor(Date.now() / every) * every;

let stage: QueryStage;
let browser: Browser;
let tab: Tab;

/** Requests at a steady rate; `failing` is the share of them that fails. */
function requests(metric: string, i: number, failing: number, labels: Readonly<Record<string, string>> = {}): void {
  const { namespace, name, node } = workloads[i]!;
  const own = { ...labels, k8s_namespace_name: namespace, k8s_owner_name: name, k8s_kind: 'Deployment' };
  for (const [code, part] of Object.entries({ 200: 1 - failing, 503: failing })) {
    if (part === 0) continue;
    const one = { ...own, k8s_pod_name: `${name}-x-1`, http_response_status_code: code };
    for (let t = now - 6 * every; t <= now; t += every) {
      const count = ((t - now) / 1_000 + 360) * (1 + (i % 7)) * part;
      stage.cluster.append(node, { __name__: `${metric}_count`, ...one }, t, count);
      stage.cluster.append(node, { __name__: `${metric}_bucket`, ...one, le: '0.1' }, t, count * 0.9);
      stage.cluster.append(node, { __name__: `${metric}_bucket`, ...one, le: '+Inf' }, t, count);
    }
  }
}

needing(browserNeed).describe('the page over 50 nodes and 500 workloads', () => {
  beforeAll(async () => {
    const index = new AddressIndex();
    for (const { namespace, name, ip, node } of workloads) {
      const owner = { kind: 'ReplicaSet', name: `${name}-x` };
      const pod = { namespace, name: `${name}-x-1`, uid: name, nodeName: node, owner, containers: ['main'] };
      const labels = { app: name, 'pod-template-hash': 'x' };
      index.setPod({ ...pod, labels, ips: [ip], hostNetwork: false, fromMs: 0, ended: false }, now);
    }
    // All agents share one processor here, so each gets more time to answer.
    const flags = { agentTimeout: '100s', queryTimeout: '100s' };
    stage = await startQueryStage({ nodes, pageDir, flags, addresses: { index, synced: true } });
    for (const i of workloads.keys()) requests('http_server_request_duration', i, i % 10 === 0 ? 0.2 : 0.01);
    for (const { source, target } of calls) {
      requests('http_client_request_duration', workloads.indexOf(source), 0, { server_address: target.ip });
    }
    browser = await startBrowser();
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });
  afterEach(() => tab?.close());

  const open = async (path: string): Promise<void> => {
    tab = await openTab(browser, `https://localhost:${stage.server.port}/${path}`, {
      before: (context) =>
        context.route(/\/api\/v1\/(services|topology)\?/, (route) => {
          const url = new URL(route.request().url());
          url.searchParams.set('end', String(now / 1_000));
          return route.continue({ url: url.href });
        }),
    });
    tab.page.setDefaultTimeout(100_000);
  };
  const value = async (query: string): Promise<number> => {
    const { status, json } = await stage.ask('/api/v1/query', { query, time: String(now / 1_000) });
    expect(status).toBe(200);
    return Number((json.data as { result: { value: [number, string] }[] }).result[0]!.value[1]);
  };

  test('Services lists all workloads with their numbers, and the filter narrows the list', async () => {
    await open('services');
    await tab.page.getByText('500 workloads', { exact: true }).waitFor();
    await tab.page.getByRole('searchbox').fill('ns:team-7 is:failing');
    await tab.page.getByText('2 of 500 workloads', { exact: true }).waitFor();
    await tab.page.getByRole('searchbox').fill('team-1/service-42');
    const row = tab.page.getByRole('row').filter({ has: tab.page.getByText('service-42', { exact: true }) });
    await tab.page.getByText('1 of 500 workloads', { exact: true }).waitFor();
    const [, rate, , errors] = await row.locator('td').allTextContents();
    const own = 'http_server_request_duration_count{k8s_owner_name="service-42"';
    expect(rate).toBe(perSecond(await value(`sum(rate(${own}}[5m]))`)));
    const failed = await value(`sum(rate(${own}, http_response_status_code="503"}[5m])) / sum(rate(${own}}[5m]))`);
    expect(errors).toContain(percent(failed));
    expect([await tab.violations(), tab.complaints]).toEqual([[], []]);
  }, 240_000);

  test('Map draws all workloads, and folds them by namespace', async () => {
    await open('map');
    await tab.page.getByText('500 nodes, 2000 edges').waitFor();
    await until('the map is drawn', () => tab.drawn('.map canvas'), { good: (pixels) => pixels > 10_000 });
    await tab.page.getByText(/^Fold namespaces/).click();
    await tab.page.getByRole('button', { name: 'all', exact: true }).click();
    await tab.page.getByText(/^20 nodes, /).waitFor();
    expect([await tab.violations(), tab.complaints]).toEqual([[], []]);
  }, 240_000);
});
