/** Tests of the page in a real Chromium over the running product: it shows the same as PromQL and kubectl. */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator } from 'playwright-core';
import type { ObjectKind, Topology } from '../../src/api/page/types.ts';
import type { StreamMessage } from '../../src/stream/index.ts';
import { needing } from '../../src/testing/needs.ts';
import { until } from '../../src/testing/until.ts';
import { duration, percent, perSecond } from '../../ui/parts/format.ts';
import { wordsOf } from '../../ui/views/live/item-words.ts';
import { getJson } from '../demo/query-client.ts';
import type { Stage } from '../demo/stage.ts';
import { browserNeed } from '../page/browser.ts';
import { installPlugin } from '../kubectl-svc/plugin.ts';
import { openTab, startBrowser, type Tab } from '../page/tab.ts';
import { podsOf } from './probe.ts';

/** Folder of a run's screenshots. The README's are taken with SVC_PICTURES=docs/pictures. */
const pictures = process.env['SVC_PICTURES'] ?? join(tmpdir(), 'svc-pictures');

/** A Deployment that the sample policy excludes by its label. */
const excluded = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'quiet', namespace: 'shop' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'quiet' } },
    template: {
      metadata: { labels: { app: 'quiet', 'svc.dev/capture': 'off' } },
      spec: {
        automountServiceAccountToken: false,
        containers: [
          {
            name: 'quiet',
            image: 'svc-demo-shop:0.1.0',
            env: [
              { name: 'PORT', value: '8081' },
              { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://127.0.0.1:1' },
            ],
          },
        ],
      },
    },
  },
};

/** Tests of the views over the product that `stage` returns. The product must be up when the tests run. */
export function pageViews(stage: () => Stage): void {
  needing(browserNeed).describe('the page', () => {
    let browser: Browser;
    let tab: Tab;
    /** The time of all queries, far enough in the past that every sample up to it has arrived. Unit: s. */
    let at: number;

    beforeAll(async () => {
      mkdirSync(pictures, { recursive: true });
      browser = await startBrowser();
    });
    afterAll(() => browser?.close());
    afterEach(() => tab?.close());

    const open = async (path: string): Promise<void> => {
      at = Math.floor(Date.now() / 1_000) - 15;
      tab = await openTab(browser, `https://localhost:${stage().queryTarget.port}/${path}`, {
        before: (context) =>
          context.route(/\/api\/v1\/(services|topology)\?/, (route) => {
            const url = new URL(route.request().url());
            url.searchParams.set('end', String(at));
            return route.continue({ url: url.href });
          }),
      });
    };
    const value = async (query: string): Promise<number> => {
      const { body } = await stage().query(query, { time: String(at) });
      expect(body).toMatchObject({ status: 'success', degraded: false });
      return Number(body.data!.result[0]?.value[1]);
    };
    const cells = (row: Locator): Promise<string[]> => row.locator('td').allTextContents();
    const nothingWrong = async (picture: string): Promise<void> => {
      await tab.page.screenshot({ path: join(pictures, `${picture}.png`) });
      expect([await tab.violations(), tab.complaints]).toEqual([[], []]);
    };

    test('Services shows rate, errors and p99 of each workload as PromQL gives them', async () => {
      await until(
        'rates of both workloads, a while ago',
        () =>
          stage().query(
            'count(count by (k8s_deployment_name) (rate(http_server_request_duration_count{k8s_namespace_name="shop", k8s_deployment_name=~"catalog|checkout"}[1m] offset 20s)))',
          ),
        { good: ({ body }) => body.data?.result[0]?.value[1] === '2' },
      );
      await open('services');
      for (const workload of ['catalog', 'checkout']) {
        const row = tab.page.getByRole('row').filter({ has: tab.page.getByText(workload, { exact: true }) });
        await row.waitFor();
        const [, rate, , errors, , , p99] = await cells(row);
        const own = `k8s_namespace_name="shop", k8s_deployment_name="${workload}"`;
        const all = `sum(rate(http_server_request_duration_count{${own}}[5m]))`;
        const failed = `sum(rate(http_server_request_duration_count{${own}, http_response_status_code=~"5.."}[5m]))`;
        const quantile = `histogram_quantile(0.99, sum by (le) (rate(http_server_request_duration_bucket{${own}}[5m])))`;
        expect(rate).toBe(perSecond(await value(all)));
        expect(errors).toContain(percent(await value(`(${failed} or vector(0)) / ${all}`)));
        expect(p99).toBe(duration(1_000 * (await value(quantile))));
      }
      await nothingWrong('services');
    });

    test('a service shows its routes, its callers, and its pods on their nodes, all captured', async () => {
      await open('service?ns=shop&name=catalog&kind=Deployment');
      const pods = (await podsOf(stage(), 'shop', 'app=catalog')).map(
        ({ metadata, spec }) => `${metadata.name} ${spec.nodeName}`,
      );
      const shown = tab.page.getByRole('region', { name: 'Pods' }).locator('tbody tr');
      await shown.first().waitFor();
      const rows = await Promise.all((await shown.all()).map(cells));
      expect(rows.map(([pod, node]) => `${pod} ${node}`).sort()).toEqual(pods.sort());
      expect(rows.map(([, , captured]) => captured)).toEqual(pods.map(() => '✓ nothing stands in the way'));
      await tab.page.getByRole('region', { name: 'Routes' }).getByText('/products/{id}').waitFor();
      await tab.page.getByRole('region', { name: 'Called by' }).getByText('shop/checkout').waitFor();
      await tab.page.getByText('Settings, and where each comes from').click();
      await tab.page.getByText('ClusterTrafficPolicy/default (defaults)').first().waitFor();
      await nothingWrong('service');
    });

    test('Map shows the edges of the topology, and each has the numbers of its own PromQL', async () => {
      await open('map');
      const rows = tab.page.getByRole('region', { name: 'Edges' }).locator('tbody tr');
      await rows.first().waitFor();
      const path = `/api/v1/topology?by=workload&window=5m&end=${at}`;
      const { edges, nodes } = (await getJson(stage().queryTarget, path)).body.data as unknown as Topology;
      const nameOf = new Map(
        nodes.map(({ id, namespace, name }) => [id, namespace ? `${namespace}/${name}` : name || 'unknown']),
      );
      const expected = edges.map(({ source, target, protocol, stats }) =>
        [nameOf.get(source), nameOf.get(target), protocol, perSecond(stats.requestRate)].join(' '),
      );
      const shown = (await Promise.all((await rows.all()).map(cells))).map(([from, , to, protocol, rate]) =>
        [from, to, protocol, rate].join(' '),
      );
      expect(shown.sort()).toEqual(expected.sort());
      expect(shown.some((row) => row.startsWith('shop/checkout shop/catalog http '))).toBe(true);
      const asked = edges.filter(({ promql }) => promql.requestRate !== undefined);
      expect(asked.length).toBeGreaterThan(0);
      for (const { promql, stats } of asked) {
        expect(await value(promql.requestRate!)).toBeCloseTo(stats.requestRate!, 6);
      }
      await tab.page.locator('.map canvas').first().waitFor();
      await nothingWrong('map');
    });

    test('Query shows the result of its expression', async () => {
      await open('graph?g0.expr=sum(svc_agent_up)');
      await tab.page.getByRole('button', { name: 'Run' }).click();
      await tab.page.getByText(/^1 series in/).waitFor();
      expect(await tab.page.locator('table.result tbody tr').allTextContents()).toEqual(['{}3']);
      await nothingWrong('query');
    });

    test('Nodes shows the nodes that kubectl shows, and the state of each', async () => {
      await until(
        'what agents store of themselves every ten seconds',
        () => stage().query('count(svc_series_limit) + count(svc_cert_expiry_timestamp_seconds > 0)'),
        { good: ({ body }) => body.data?.result[0]?.value[1] === '6' },
      );
      await open('nodes');
      const rows = tab.page.getByRole('region', { name: 'Nodes' }).locator('tbody tr');
      await rows.first().waitFor();
      const shown = await Promise.all((await rows.all()).map(cells));
      const names = (await stage().cluster.kubectl(['get', 'nodes', '-o', 'name'])).trim().split('\n');
      expect(shown.map(([name]) => `node/${name}`).sort()).toEqual(names.sort());
      for (const [, state, versions, config, , series, memory, clock, certificate] of shown) {
        expect([state, clock]).toEqual(['✓ captures', '✓']);
        expect([versions, config, series]).toEqual([
          expect.stringMatching(/^\S+, v\d+\.\d+\.\d+$/),
          expect.stringMatching(/^Running [0-9a-f]{8}$/),
          expect.stringMatching(/^\d\S* \(<?[\d.]+ %\)$/),
        ]);
        expect([memory, certificate]).toEqual([
          expect.stringMatching(/^\d\S* MiB, /),
          expect.stringMatching(/^\d+ d$/),
        ]);
      }
      await nothingWrong('nodes');
    });

    test('Live shows failed requests in the same way as `kubectl svc observe`', async () => {
      await open('live?ns=shop&type=span&status=5%2B');
      const rows = tab.page.getByRole('region', { name: 'Spans and flows' }).locator('tbody tr');
      await until('some rows', () => rows.count(), { good: (count) => count >= 5 });
      await tab.page.getByRole('button', { name: 'Pause' }).click();
      const shown = await Promise.all((await rows.all()).map(cells));
      const plugin = await installPlugin(stage().cluster);
      try {
        const filters = ['-n', 'shop', '--type', 'span', '--status', '5+', '--last', '2000'];
        const { code, stdout } = await plugin.svc(['observe', ...filters, '-o', 'json']);
        expect(code).toBe(0);
        const printed = stdout
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as StreamMessage)
          .map((message) => ({ ...wordsOf(message), node: message.node }))
          .map(({ time, what, outcome, size, from, to, node }) =>
            [time, what, outcome, size, from, to, node].join(' | '),
          );
        // A failed request has a sign before its status.
        const expected = shown.map((row) => row.map((text) => text.replace(/^[^\w/]+ /, '')).join(' | '));
        expect(expected.filter((row) => !printed.includes(row))).toEqual([]);
      } finally {
        await plugin.remove();
      }
      await nothingWrong('live');
    });

    test.each<[kind: ObjectKind, resource: string]>([
      ['TrafficMonitor', 'tm'],
      ['ClusterTrafficPolicy', 'ctp'],
      ['MinterDeployment', 'md'],
    ])(
      'Objects shows the conditions of each %s as kubectl does, and no fault in a healthy object',
      async (kind, of) => {
        const list = JSON.parse(await stage().cluster.kubectl(['get', of, '-A', '-o', 'json'])) as {
          items: { metadata: { name: string }; status: { conditions: { type: string; status: string }[] } }[];
        };
        await open(`objects?kind=${kind}`);
        expect(list.items.length).toBeGreaterThan(0);
        for (const { metadata, status } of list.items) {
          const card = tab.page.getByRole('region', { name: metadata.name, exact: true });
          await card.waitFor();
          const shown = (await card.locator('dt').allTextContents()).map((text) => text.trim());
          expect(shown.map((text) => text.slice(2))).toEqual(status.conditions.map((c) => `${c.type}=${c.status}`));
          expect(shown.filter((text) => text.startsWith('✕'))).toEqual([]);
        }
        await nothingWrong(`objects-${of}`);
      },
    );

    describe('answers a new user in at most three clicks', () => {
      let clicks: number;
      const click = async (what: Locator): Promise<void> => {
        clicks++;
        await what.click();
      };
      beforeEach(() => void (clicks = 0));
      afterEach(() => expect(clicks).toBeLessThanOrEqual(3));

      test('which service fails, and who calls it', async () => {
        await open('');
        const first = tab.page.getByRole('region', { name: 'Services' }).locator('tbody tr').first();
        await first.waitFor();
        const share =
          'sum by (k8s_deployment_name) (rate(http_server_request_duration_count{http_response_status_code=~"5.."}[5m])) / sum by (k8s_deployment_name) (rate(http_server_request_duration_count[5m]))';
        const { body } = await stage().query(`topk(1, ${share})`, { time: String(at) });
        const worst = body.data!.result[0]!.metric['k8s_deployment_name']!;
        expect(await first.locator('.workload b').textContent()).toBe(worst);
        await click(first.getByRole('link'));
        const callers = tab.page.getByRole('region', { name: 'Called by' }).getByRole('listitem');
        await callers.first().waitFor();
        const path = `/api/v1/topology?by=workload&window=5m&end=${at}`;
        const { edges } = (await getJson(stage().queryTarget, path)).body.data as unknown as Topology;
        expect(await callers.count()).toBe(edges.filter(({ target }) => target.endsWith(`/${worst}`)).length);
      });

      test('why a pod is not captured', async () => {
        await stage().cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(excluded) });
        await stage().cluster.kubectl(['-n', 'shop', 'rollout', 'status', 'deployment/quiet', '--timeout=60s']);
        try {
          await open('services?filter=quiet');
          await click(tab.page.getByRole('link', { name: /quiet/ }));
          const reason = tab.page.getByRole('region', { name: 'Pods' }).locator('tbody tr');
          await reason.getByText(/excluded by ClusterTrafficPolicy\/default/).waitFor();
        } finally {
          await stage().cluster.kubectl(['-n', 'shop', 'delete', 'deployment', 'quiet', '--wait=false']);
        }
      });

      test('which node is missing', async () => {
        const agents = await podsOf(stage(), 'svc-system', 'app.kubernetes.io/component=agent');
        const lost = agents.find(({ spec }) => spec.nodeName === 'node-3')!;
        const signal = (name: NodeJS.Signals): Promise<void> =>
          stage().cluster.nodes[2]!.killContainer(`svc-system/${lost.metadata.name}`, 'agent', name);
        await signal('SIGSTOP');
        try {
          await open('');
          await tab.page.getByText(/no answer from node-3\./).waitFor({ timeout: 45_000 });
          await click(tab.page.getByRole('link', { name: 'Nodes' }).last());
          const row = tab.page.getByRole('row').filter({ has: tab.page.getByText('node-3', { exact: true }) });
          await row.getByText('✕ the agent does not answer').waitFor({ timeout: 45_000 });
        } finally {
          await signal('SIGCONT').catch(() => undefined);
        }
        await until('all agents again', () => stage().query('sum(svc_agent_up)'), {
          good: ({ body }) => body.degraded === false && body.data?.result[0]?.value[1] === '3',
        });
      }, 180_000);
    });
  });
}
