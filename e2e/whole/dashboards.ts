/**
 * Runs every query of the shipped dashboards over the running product. Queries of captured traffic go to its query
 * server. Queries of the product's own metrics run over two scrapes of its programs' `/metrics` pages.
 */
import { Engine } from '../../src/promql/index.ts';
import { MemorySource } from '../../src/testing/promql/memory-source.ts';
import { parseOpenMetrics } from '../../src/testing/promql/open-metrics.ts';
import { until } from '../../src/testing/until.ts';
import { dashboards } from '../../scripts/generate/dashboards.ts';
import { agentEmail, readyPods, type Stage } from '../demo/stage.ts';

/** Dashboards of captured traffic, whose queries go to the query server. The others show scraped metrics. */
const ofTraffic = ['svc-services', 'svc-service', 'svc-topology'];

/** Queries that are empty over a healthy product, and why. */
const emptyWhenWell: Readonly<Record<string, string>> = {
  'sum by (k8s_node_name, reason) (rate(svc_otlp_rejected_total[$__rate_interval]))': 'nothing was ever refused',
  svc_export_pending_bytes: 'no monitor exports',
};

const parts = [
  { namespace: 'svc-system', component: 'controller', port: 8080 },
  { namespace: 'svc-system', component: 'agent', port: 9090 },
  { namespace: 'svc-system', component: 'query', port: 9096 },
  { namespace: 'platform-agent', component: 'minter', port: 9090 },
] as const;

const targets = dashboards.flatMap(({ uid, panels }) =>
  panels.flatMap((panel) => panel.targets.map(({ expr }) => ({ uid, title: `${uid}: ${panel.title}`, expr }))),
);

/** Tests of the dashboards over the product that `stage` returns. The product must be up when they run. */
export function dashboardQueries(stage: () => Stage): void {
  describe('the dashboards', () => {
    const scraped = new MemorySource();
    let at: number;

    beforeAll(async () => {
      const { cluster } = stage();
      const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);
      await kubectl('-n', 'shop', 'create', 'serviceaccount', 'scraper');
      const role = ['--clusterrole=svc-metrics-reader', '--serviceaccount=shop:scraper'];
      await kubectl('create', 'clusterrolebinding', 'scraper', ...role);
      const token = (await kubectl('-n', 'shop', 'create', 'token', 'scraper')).trim();
      // A rate needs two samples of a series, and an increase between them.
      const useAll = async (): Promise<void> => {
        await stage().mint(agentEmail);
        await stage().mint('stranger@demo-project.iam.gserviceaccount.com');
        await stage().query('count(svc_agent_up)');
      };
      await useAll();
      await until('the binding to count', () => scrape(token));
      await useAll();
      await until('a second scrape, later than the first', async () => {
        const isScraped = await scrape(token);
        at = 1000 * (await now());
        return isScraped;
      });
    }, 90_000);

    /** The time of the query server, in seconds. */
    async function now(): Promise<number> {
      const { body } = await stage().query('time()');
      return Number((body.data!.result as unknown as [number, string])[1]);
    }

    /** Scrapes every pod's `/metrics` page, and adds the labels that a scraper adds. */
    async function scrape(token: string): Promise<boolean> {
      const seconds = await now();
      for (const { namespace, component, port } of parts) {
        for (const pod of await readyPods(stage().cluster, namespace, `app.kubernetes.io/component=${component}`)) {
          const headers = { authorization: `Bearer ${token}` };
          const url = `http://${pod.ip}:${port}/metrics`;
          const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) });
          if (!response.ok) throw new Error(`${url}: ${response.status}`);
          const added = `namespace="${namespace}",pod="${pod.name}",job="${component}"`;
          for (const { labels, samples } of parseOpenMetrics(timed(await response.text(), added, seconds)))
            scraped.load(labels, samples);
        }
      }
      return true;
    }

    test.each(targets)('$title is answered: $expr', async ({ uid, expr }) => {
      const query = expr
        .replaceAll('$__rate_interval', '5m')
        .replaceAll('$namespace', 'shop')
        .replaceAll('$workload', 'checkout');
      const answer = ofTraffic.includes(uid) ? await answered(query) : await overScrapes(query);
      expect(answer > 0).toBe(emptyWhenWell[expr] === undefined);
    });

    async function answered(query: string): Promise<number> {
      const { body } = await stage().query(query);
      if (body.data === undefined) throw new Error(`${query}: ${body.error ?? 'no data'}`);
      return body.data.result.length;
    }

    async function overScrapes(query: string): Promise<number> {
      const { value } = await new Engine().instant(query, at, { source: scraped });
      if (value.type !== 'vector') throw new Error(`${query}: a ${value.type}`);
      return value.elements.length;
    }
  });
}

/** The samples of a page as OpenMetrics text, each with the labels of `added` and the time `seconds`. */
function timed(page: string, added: string, seconds: number): string {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
      return `${name}{${labels === '' ? added : `${labels},${added}`}} ${value} ${seconds}`;
    })
    .join('\n');
}
