import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { until } from '../../src/testing/until.ts';
import { needing } from '../../src/testing/needs.ts';
import { browserNeed } from './browser.ts';
import { openTab, startBrowser, type Tab } from './tab.ts';

/** The query page in a real browser, in front of a query server over three agents. */

const pageDir = fileURLToPath(new URL('../../dist/ui', import.meta.url));
const now = Math.floor(Date.now() / 15_000) * 15_000;
const requests = 'http_server_request_duration_count';
let stage: QueryStage;
let browser: Browser;
let tab: Tab;
let page: Page;
let complaints: readonly string[];

/** Opens the page of a server in a tab with an empty history. */
async function open(path = '/', port = stage.server.port): Promise<void> {
  tab = await openTab(browser, `https://localhost:${port}${path}`, { width: 1200 });
  ({ page, complaints } = tab);
}

/** As `open`, with `before` to prepare the tab: for a clock that can be advanced, or for made-up answers. */
async function openWith(path: string, before: (context: BrowserContext) => Promise<unknown>): Promise<void> {
  tab = await openTab(browser, `https://localhost:${stage.server.port}${path}`, { width: 1200, before });
  ({ page, complaints } = tab);
}

/** Presses the pointer on the first graph and moves it over a third of its width. */
async function beginDrag(): Promise<void> {
  const { x, y, width, height } = (await page.locator('.chart .u-over').first().boundingBox())!;
  await page.mouse.move(x + width * 0.3, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.6, y + height / 2, { steps: 5 });
}
const isZoomed = (): boolean => new URL(page.url()).searchParams.has('g0.end_input');

const expression = () => page.getByRole('textbox', { name: 'PromQL expression' });
/** The text in the editor. */
const written = async () => (await page.locator('.cm-line').allTextContents()).join('\n');
const run = () => page.getByRole('button', { name: 'Run' });
const rows = () => page.locator('table.result tbody tr');
const option = (name: string) => page.locator('.cm-tooltip-autocomplete').getByRole('option', { name });
const token = (): Promise<string | null> => page.evaluate(`sessionStorage.getItem('svc-token')`);
const invalid = () => expression().getAttribute('aria-invalid');

/** Types a query in place of the current one. */
async function write(query: string): Promise<void> {
  await expression().press('Control+a');
  await expression().press('Delete');
  await expression().pressSequentially(query);
}

/** Keeps how long each request for `sum(…)` may take, as `limits` in the browser: pairs of a path and ms. */
const keepLimits = `
  let limit;
  window.limits = [];
  const { timeout } = AbortSignal;
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, (limit = ms));
  const { fetch } = window;
  window.fetch = (path, init) => {
    if (String(path).includes('sum%28')) limits.push([/v1\\/(\\w+)/.exec(path)[1], limit]);
    return fetch(path, init);
  };`;
/** What `keepLimits` has kept since it was last asked for. */
const limits = (): Promise<[string, number][]> => page.evaluate('limits.splice(0)');

/** The members of a canvas that `linePixels` uses in the browser. */
interface Canvas {
  readonly width: number;
  readonly height: number;
  getContext(kind: '2d'): { getImageData(x: number, y: number, w: number, h: number): { data: Uint8ClampedArray } };
}

/** How many pixels of the graph have the colour of its first line. */
async function linePixels(): Promise<number> {
  return page.locator('.chart canvas').evaluate((element: unknown) => {
    const canvas = element as Canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i] === 0x33 && data[i + 1] === 0x66 && data[i + 2] === 0xcc && data[i + 3]! > 200) found++;
    }
    return found;
  });
}

needing(browserNeed).describe('the query page', () => {
  beforeAll(async () => {
    stage = await startQueryStage({ pageDir });
    for (const node of ['node-1', 'node-2', 'node-3']) {
      for (let k = 0; k <= 80; k++) {
        const t = now - (80 - k) * 15_000;
        stage.cluster.append(node, { __name__: 'svc_agent_up' }, t, 1);
        for (const [service, perSample] of Object.entries({ catalog: 15, checkout: 30 })) {
          const owner = { k8s_namespace_name: 'shop', k8s_owner_name: service, k8s_kind: 'Deployment' };
          const own = { service_name: service, ...owner, k8s_deployment_name: service };
          stage.cluster.append(node, { __name__: requests, ...own }, t, k * perSample);
        }
      }
    }
    browser = await startBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });
  afterEach(() => tab?.close());

  test('a query written with completion is answered by a graph, a table and the nodes', async () => {
    await open('/graph');
    await page.getByRole('list', { name: 'Nodes' }).getByText('node-3').waitFor();
    await write('sum by (serv');
    await option('service_name').waitFor();
    await expression().press('Tab');
    // The editor closes brackets by itself; a typed closing bracket replaces the inserted one.
    await expression().pressSequentially(') (rat');
    await option('rate').first().waitFor();
    await expression().press('Tab');
    await expression().pressSequentially('(http_server_request_duration_c');
    await option(requests).waitFor();
    await expression().press('Tab');
    await expression().pressSequentially('{k8s_name');
    await option('k8s_namespace_name').waitFor();
    await expression().press('Tab');
    await expression().pressSequentially('="');
    await option('shop').waitFor();
    await expression().press('ArrowDown');
    await expression().press('Enter');
    await expression().pressSequentially('"}[5m]))');
    const query = `sum by (service_name) (rate(${requests}{k8s_namespace_name="shop"}[5m]))`;
    expect(await written()).toBe(query);
    await expression().press('Enter');
    await page.getByText(/^2 series in \d+ ms$/).waitFor();
    const cells = (await rows().allTextContents()).map((text) => text.split(/(?<=\})/));
    expect(cells.map(([series]) => series)).toEqual(['{service_name="catalog"}', '{service_name="checkout"}']);
    const [catalog, checkout] = cells.map(([, value]) => Number(value));
    expect([catalog! > 1, checkout! / catalog!]).toEqual([true, expect.closeTo(2)]);
    expect(await linePixels()).toBeGreaterThan(300);
    expect(new URL(page.url()).searchParams.get('g0.expr')).toBe(query);
    // The address holds the whole state: a reload restores the page.
    await page.reload();
    await page.getByText(/^2 series in \d+ ms$/).waitFor();
    expect(await written()).toBe(query);
    expect(complaints).toEqual([]);
  });

  test('a graph is stacked, or drawn over a logarithmic axis, as its address says', async () => {
    const query = `sum by (service_name) (rate(${requests}[5m]))`;
    await open(`/graph?g0.expr=${encodeURIComponent(query)}`);
    await run().click();
    await page.getByText(/^2 series in \d+ ms$/).waitFor();
    const picture = (): Promise<string> =>
      page.locator('.chart canvas').evaluate((canvas: unknown) => (canvas as { toDataURL(): string }).toDataURL());
    const seen = new Set([await picture()]);
    for (const name of ['stacked', 'log']) {
      await page.getByRole('checkbox', { name }).check();
      // The choice changes the pixels of the graph.
      await until(`another picture: ${name}`, picture, { good: (one) => !seen.has(one) });
      seen.add(await picture());
    }
    const address = page.url();
    await page.reload();
    await page.getByText(/^2 series in \d+ ms$/).waitFor();
    expect(page.url()).toBe(address);
    for (const name of ['stacked', 'log']) expect(await page.getByRole('checkbox', { name }).isChecked()).toBe(true);
    expect([await tab.violations(), complaints]).toEqual([[], []]);
  });

  test('where the user forces colours, the lines of a graph and their names still have colours of their own', async () => {
    const query = `sum by (service_name) (rate(${requests}[5m]))`;
    tab = await openTab(browser, `https://localhost:${stage.server.port}/graph?g0.expr=${encodeURIComponent(query)}`, {
      forcedColors: true,
    });
    ({ page, complaints } = tab);
    await run().click();
    await page.getByText(/^2 series in \d+ ms$/).waitFor();
    expect(await linePixels()).toBeGreaterThan(300);
    const colours: string[] = await page.evaluate(
      `[...document.querySelectorAll('.swatch')].map((one) => getComputedStyle(one).backgroundColor)`,
    );
    expect(colours).toEqual(['rgb(51, 102, 204)', 'rgb(194, 87, 26)']);
    expect([await tab.violations(), complaints]).toEqual([[], []]);
  });

  test('native histograms are a heat map, and exemplars lead to their traces', async () => {
    const seconds = now / 1000;
    const metric = { __name__: 'request_seconds', service_name: 'catalog' };
    const histogram = (count: number): object => ({
      ...{ count: String(3 * count), sum: String(count) },
      buckets: [
        [0, '0.25', '0.5', String(count)],
        [0, '0.5', '+Inf', String(2 * count)],
      ],
    });
    const answer = (data: unknown) => ({ json: { status: 'success', data, degraded: false, missingNodes: [] } });
    const traceId = 'ab'.repeat(16);
    const address = `/graph?g0.expr=request_seconds&g0.end_input=${new Date(now).toISOString()}`;
    tab = await openTab(browser, `https://localhost:${stage.server.port}${address}`, {
      // A fine screen, whose canvas has more pixels than it takes place.
      scale: 2,
      before: async (context) => {
        const histograms = [seconds - 120, seconds - 60, seconds].map((time, i) => [time, histogram(i + 1)]);
        await context.route(/\/api\/v1\/query_range/, (route) =>
          route.fulfill(answer({ resultType: 'matrix', result: [{ metric, histograms }] })),
        );
        await context.route(/\/api\/v1\/query_exemplars/, (route) =>
          route.fulfill(
            answer([
              {
                seriesLabels: metric,
                exemplars: [{ labels: { trace_id: traceId }, value: '0.7', timestamp: seconds }],
              },
            ]),
          ),
        );
        await context.route(/\/api\/v1\/query(\?|$)/, (route) =>
          route.fulfill(answer({ resultType: 'vector', result: [{ metric, histogram: [seconds, histogram(3)] }] })),
        );
      },
    });
    ({ page, complaints } = tab);
    await page.getByRole('checkbox', { name: 'exemplars' }).check();
    await run().click();
    const heat = page.getByRole('img', { name: /request_seconds/ });
    await heat.waitFor();
    const { x, y, width, height } = (await heat.boundingBox())!;
    expect({ width, height }).toEqual({ width: (await page.locator('.plot').boundingBox())!.width, height: 300 });
    await page.mouse.move(x + width - 2, y + 10);
    await page.getByText(/: 6 between 0\.5 and ∞$/).waitFor();
    await page.getByText('1 exemplars').click();
    await page.getByText(`${traceId} 0.7`).waitFor();
    expect([await tab.violations(), complaints]).toEqual([[], []]);
  });

  test('a graph or exemplars that fail alone say so, beside the table of values', async () => {
    const error = 'query processing would load too many samples';
    await openWith('/graph?g0.expr=svc_agent_up', async (context) => {
      await context.route(/\/query_range/, (route) =>
        route.fulfill({ status: 422, json: { status: 'error', errorType: 'execution', error } }),
      );
      await context.route(/\/query_exemplars/, (route) =>
        route.fulfill({ status: 503, json: { status: 'error', errorType: 'unavailable', error: 'ask again' } }),
      );
    });
    await page.getByRole('checkbox', { name: 'exemplars' }).check();
    await run().click();
    await page.getByRole('alert').getByText(`No graph: ${error}`).waitFor();
    await page.getByRole('alert').getByText('No exemplars: ask again').waitFor();
    await page.getByText(/^3 series in/).waitFor();
    expect(await rows().count()).toBe(3);
    expect(await page.getByText('No exemplars in this time.').count()).toBe(0);
    expect(await tab.violations()).toEqual([]);
    expect(complaints.filter((text) => !/status of (422|503)/.test(text))).toEqual([]);
  });

  test('an error shows its position, replaces the old answer, and is gone with the next query', async () => {
    await open('/graph?g0.expr=svc_agent_up');
    await run().click();
    await page.getByText(/^3 series in/).waitFor();
    await write('sum(svc_agent_up)');
    await expression().press('Shift+Enter');
    await expression().pressSequentially(' / ]');
    await expression().press('Enter');
    const error = page.locator('pre.error');
    await error.waitFor();
    expect(await error.textContent()).toBe("2:4: parse error: unexpected right bracket ']'\n\n / ]\n   ^");
    expect(await invalid()).toBe('true');
    expect(await rows().count()).toBe(0);
    expect(await page.locator('.chart canvas').count()).toBe(0);
    await write('sum(svc_agent_up)');
    await run().press('Enter');
    await page.getByText(/^1 series in/).waitFor();
    expect([await error.count(), await invalid()]).toEqual([0, 'false']);
    // The browser itself logs answers of 400; nothing else may be logged.
    expect(complaints.filter((text) => !/status of 400/.test(text))).toEqual([]);
  });

  test('a query from a link runs only when the user runs it', async () => {
    await open('/?g0.expr=count(http_server_request_duration_count)');
    await page.getByText('A link brought this query. Read it, then press Run.').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url() + (request.postData() ?? '')));
    await page.getByLabel('Time range').fill('5m');
    await page.getByLabel('Time range').press('Tab');
    await page.getByRole('button', { name: 'token…' }).click();
    await page.keyboard.type('of-ann');
    await page.keyboard.press('Enter');
    await until('the token', token, { good: (text) => text === 'of-ann' });
    await page.getByRole('list', { name: 'Nodes' }).getByText('node-3').waitFor();
    expect(asked.filter((text) => text.includes('count'))).toEqual([]);
    await run().click();
    await page.getByText(/^1 series in/).waitFor();
    expect(asked.filter((text) => text.includes('count')).length).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
  });

  test('a live query that takes longer than its interval is answered, and then sent again', async () => {
    let asked = 0;
    const { promise: mayAnswer, resolve: letAnswer } = Promise.withResolvers<void>();
    await openWith('/graph?g0.expr=svc_agent_up', async (context) => {
      await context.clock.install();
      await context.route(/\/query_range/, async (route) => {
        asked++;
        await mayAnswer;
        await route.continue();
      });
    });
    const aborted: string[] = [];
    page.on('requestfailed', (request) => request.url().includes('/query_range') && aborted.push(request.url()));
    await run().click();
    await until('a question', () => asked);
    for (let i = 0; i < 3; i++) await page.clock.fastForward(5_500);
    letAnswer();
    await page.getByText(/^3 series in \d+ ms$/).waitFor();
    expect(aborted).toEqual([]);
    const before = asked;
    await page.clock.fastForward(5_500);
    await until('the next question', () => asked > before);
    expect(complaints).toEqual([]);
  });

  test('each request of a panel may take as long as the server lets a query take, from the first on', async () => {
    await openWith('/graph?g0.expr=sum(svc_agent_up)&g0.show_exemplars=1', async (context) => {
      await context.addInitScript({
        content: `sessionStorage.setItem('svc-ran', '["sum(svc_agent_up)"]'); ${keepLimits}`,
      });
      // The settings come last: the query waits for them.
      await context.route(/\/status\/flags/, async (route) => {
        await route.request().frame().getByText('Asking the nodes').waitFor();
        await route.continue();
      });
    });
    await page.getByText(/^1 series in/).waitFor();
    const all = ['query', 'query_range', 'query_exemplars'].map((path) => [path, 125_000]);
    await page.getByRole('checkbox', { name: 'live' }).uncheck();
    expect((await limits()).slice(0, 3)).toEqual(all);
    await expression().press('Enter');
    await until('the requests', async () => (await page.evaluate<number>('limits.length')) >= 3);
    expect(await limits()).toEqual(all);
    await page.getByText('How it ran on the agents').click();
    await page.locator('details').filter({ hasText: 'How it ran' }).locator('pre').waitFor();
    expect(await limits()).toEqual([['query', 125_000]]);
    expect(complaints).toEqual([]);
  });

  test('settings that the server could not tell are asked for again, without ending a query that runs', async () => {
    let asked = 0;
    let isDown = true;
    const { promise: mayAnswer, resolve: letAnswer } = Promise.withResolvers<void>();
    await openWith('/graph?g0.expr=sum(svc_agent_up)', async (context) => {
      await context.clock.install();
      await context.addInitScript({ content: keepLimits });
      const json = { status: 'error', errorType: 'unavailable', error: 'ask again' };
      await context.route(/\/status\/flags/, (route) => {
        asked++;
        return isDown ? route.fulfill({ status: 503, json }) : route.continue();
      });
      await context.route(/\/query_range/, async (route) => {
        await mayAnswer;
        await route.continue();
      });
    });
    const aborted: string[] = [];
    page.on('requestfailed', (request) => request.url().includes('sum%28') && aborted.push(request.url()));
    const askedAgain = (): Promise<unknown> => {
      const before = asked;
      return until('the settings to be asked for', async () => {
        await page.clock.fastForward(5_500);
        return asked > before;
      });
    };
    await run().click();
    await until('the query', async () => (await page.evaluate<number>('limits.length')) === 2);
    await askedAgain();
    isDown = false;
    await askedAgain();
    letAnswer();
    await page.getByText(/^1 series in/).waitFor();
    await page.getByRole('checkbox', { name: 'live' }).uncheck();
    expect((await limits()).slice(0, 2)).toEqual(['query', 'query_range'].map((path) => [path, 30_000]));
    expect(aborted).toEqual([]);
    const limitOfRun = async (): Promise<number | undefined> => {
      await run().click();
      return (await limits())[0]?.[1];
    };
    await until('the limit that the server told', limitOfRun, { good: (ms) => ms === 125_000 });
    const before = asked;
    await page.clock.fastForward(60_000);
    await until('one more query', limitOfRun);
    expect(asked).toBe(before);
    expect(complaints.filter((text) => !/status of 503/.test(text))).toEqual([]);
  });

  test('a query that was cancelled, or that the server refuses, is not sent again by itself', async () => {
    const asked = { range: 0, nodes: 0 };
    let isHeld = true;
    await openWith('/graph?g0.expr=svc_agent_up', async (context) => {
      await context.clock.install();
      context.on('request', (request) => {
        if (request.url().includes('/query_range')) asked.range++;
        else if (/\/query\?query=svc_agent_up/.test(request.url())) asked.nodes++;
      });
      await context.route(/\/query_range/, (route) => (isHeld ? undefined : route.continue()));
    });
    /** Lets the interval pass, which also the list of nodes is asked at. */
    const interval = (): Promise<unknown> => {
      const before = asked.nodes;
      return until('the nodes to be asked', async () => {
        await page.clock.fastForward(5_500);
        return asked.nodes > before;
      });
    };
    await run().click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Cancelled. Run sends it again.').waitFor();
    for (let i = 0; i < 3; i++) await interval();
    expect(asked.range).toBe(1);
    isHeld = false;
    await run().click();
    await page.getByText(/^3 series in/).waitFor();
    await write('sum(');
    await run().click();
    await page.locator('pre.error').waitFor();
    const before = asked.range;
    for (let i = 0; i < 3; i++) await interval();
    expect(asked.range).toBe(before);
    expect(complaints.filter((text) => !/status of 400/.test(text))).toEqual([]);
  });

  test.each([
    ['/graph', 'the example query'],
    ['/graph?g0.expr=svc_agent_up&g0.tab=0&g0.range_input=60m', 'a link as Prometheus writes it'],
  ])('%s (%s) sends one query', async (path) => {
    const asked: string[] = [];
    /** How many requests there were when the first was answered: later ones are those of the live view. */
    let first: number | undefined;
    await openWith(path, async (context) => {
      await context.addInitScript({ content: `sessionStorage.setItem('svc-ran', '["svc_agent_up"]')` });
      context.on('request', (request) => request.url().includes('/query_range') && asked.push(request.url()));
      context.on('response', (response) => response.url().includes('/query_range') && (first ??= asked.length));
    });
    await page.getByText(/^\d series in \d+ ms$/).waitFor();
    expect([first, asked[0]]).toEqual([1, expect.stringContaining('/query_range')]);
    expect(complaints).toEqual([]);
  });

  test('a zoom keeps panels that were added after the graph was drawn', async () => {
    await open('/graph?g0.expr=svc_agent_up');
    await run().click();
    await page.locator('.chart').waitFor();
    await page.getByRole('checkbox', { name: 'live' }).uncheck();
    await page.getByRole('button', { name: 'Add a panel' }).click();
    await beginDrag();
    await page.mouse.up();
    await until('a zoom', isZoomed);
    expect(await page.locator('.panel').count()).toBe(2);
    expect([await tab.violations(), complaints]).toEqual([[], []]);
  });

  test('a query whose end has seconds, as after a zoom or in a link, can be run', async () => {
    const end = new Date(now - 7_123).toISOString();
    await open(`/graph?g0.expr=svc_agent_up&g0.end_input=${end}`);
    await run().click();
    await page.getByText(/^3 series in/).waitFor();
    expect(new URL(page.url()).searchParams.get('g0.end_input')).toBe(end);
    expect(complaints).toEqual([]);
  });

  test('a new answer does not end a drag over the graph', async () => {
    let asked = 0;
    await openWith('/graph?g0.expr=svc_agent_up', async (context) => {
      await context.clock.install();
      await context.route(/\/query_range/, (route) => {
        const times = new URL(route.request().url()).searchParams;
        const [start, step] = [Number(times.get('start')), Number(times.get('step'))];
        const points = Math.floor((Number(times.get('end')) - start) / step) + 1;
        const values = Array.from({ length: points }, (_, i) => [start + i * step, String(asked)]);
        asked++;
        const data = { resultType: 'matrix', result: [{ metric: { __name__: 'svc_agent_up' }, values }] };
        return route.fulfill({ json: { status: 'success', data, degraded: false, missingNodes: [] } });
      });
    });
    await run().click();
    const value = page.locator('.legend .num');
    await value.getByText('0').waitFor();
    await beginDrag();
    await page.clock.fastForward(5_500);
    await value.getByText('1').waitFor();
    const selected = (await page.locator('.u-select').boundingBox())!;
    expect(selected.width).toBeGreaterThan(100);
    await page.mouse.up();
    await until('a zoom', isZoomed);
    expect(complaints).toEqual([]);
  });

  test('after a new query, its own plan on the agents is shown, not the plan of the query before', async () => {
    await open('/graph?g0.expr=svc_agent_up');
    await run().click();
    await page.getByText('How it ran on the agents').click();
    const plan = page.locator('details').filter({ hasText: 'How it ran' });
    await plan.locator('pre').waitFor();
    const before = await plan.textContent();
    await write('sum(svc_agent_up)');
    await run().click();
    await page.getByText(/^1 series in/).waitFor();
    await until('another plan', () => plan.textContent(), { good: (text) => text !== before && /Path/.test(text!) });
    expect(complaints).toEqual([]);
  });

  test.each([
    [3_600_000, '1 h ahead of'],
    [-1_800_000, '30 min behind'],
  ])('a browser whose clock is off by %p ms says so, and shows what is there now by the server', async (off, words) => {
    const ends: number[] = [];
    const times: (string | null)[] = [];
    const prepare = async (context: BrowserContext): Promise<void> => {
      await context.addInitScript({ content: `sessionStorage.setItem('svc-ran', '["sum(${requests})"]')` });
      await context.clock.install({ time: Date.now() + off });
      context.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        if (/\/query_(range|exemplars)$/.test(pathname)) ends.push(Number(searchParams.get('end')) * 1_000);
        if (pathname.endsWith('/query')) times.push(searchParams.get('time'));
      });
    };
    await openWith(`/graph?g0.expr=sum(${requests})&g0.show_exemplars=1`, prepare);
    await page.getByText(/^1 series in \d+ ms$/).waitFor();
    await page.getByText(`The clock of this device is ${words} the query server’s`).waitFor();
    await page.getByRole('list', { name: 'Nodes' }).getByText('node-3').waitFor();
    expect(await linePixels()).toBeGreaterThan(300);
    await page.getByText('How it ran on the agents').click();
    await page.locator('details').filter({ hasText: 'How it ran' }).locator('pre').waitFor();
    await tab.close();
    await openWith('/service?ns=shop&name=catalog&kind=Deployment', prepare);
    await page.getByRole('region', { name: 'Requests', exact: true }).locator('canvas').waitFor();
    await page.getByRole('region', { name: 'Errors' }).locator('.legend').getByText('0 %').waitFor();
    expect(new Set(times)).toEqual(new Set([null]));
    expect(ends.length).toBeGreaterThanOrEqual(5);
    for (const end of ends) expect(Math.abs(end - Date.now())).toBeLessThan(60_000);
    expect(complaints.filter((text) => !/status of 503/.test(text))).toEqual([]);
  });

  test('a service that never failed has a line of errors at 0', async () => {
    await open('/service?ns=shop&name=catalog&kind=Deployment');
    const errors = page.getByRole('region', { name: 'Errors' });
    await errors.locator('.legend').getByText('0 %').waitFor();
    expect(complaints.filter((text) => !/status of 503/.test(text))).toEqual([]);
  });

  test('Escape closes what the editor has open, and Tab leaves it for the controls in their order', async () => {
    await open('/?g0.expr=svc_agent_up');
    await run().click();
    await page.getByText(/^3 series in/).waitFor();
    await expression().focus();
    await expression().press('End');
    await expression().pressSequentially(' + ab');
    await option('absent_over_time').waitFor();
    await expression().press('Escape');
    expect(await option('absent_over_time').count()).toBe(0);
    expect(await written()).toBe('svc_agent_up + ab');
    await expression().press('Control+Space');
    await option('absent_over_time').waitFor();
    await expression().press('Escape');
    const order: string[] = [];
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press('Tab');
      const focused = page.locator(':focus');
      const label = await focused.getAttribute('aria-label');
      order.push(label ?? (await focused.locator('xpath=self::button|parent::label').textContent())!.trim());
    }
    expect(order).toEqual(['Time range', 'Run', 'live']);
    expect(complaints).toEqual([]);
  });

  test('without a token the page says so, and with one it works', async () => {
    const { port } = await stage.replica({
      flags: { loopbackExempt: 'false' },
      reviews: {
        reviewToken: async (token) => (token === 'sesame' ? { username: 'ann' } : undefined),
        mayAccessPath: async () => true,
      },
    });
    await open('/?g0.expr=svc_agent_up', port);
    await run().click();
    const refused = page.locator('.panel .note');
    await refused.waitFor();
    expect(await refused.textContent()).toMatch(/token/);
    await refused.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel(/Bearer token/).fill('other');
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await token()).toBe(null);
    await refused.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel(/Bearer token/).fill('sesame');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^3 series in/).waitFor();
    expect(complaints.filter((text) => !/status of 401/.test(text))).toEqual([]);
  });

  test('a view whose token has expired offers to sign in, and goes on by itself when the server takes it again', async () => {
    let isRefused = false;
    await openWith('/services', async (context) => {
      await context.clock.install();
      const json = { status: 'error', errorType: 'unauthorized', error: 'no valid token' };
      await context.route(/\/api\/v1\/services/, (route) =>
        isRefused ? route.fulfill({ status: 401, json }) : route.continue(),
      );
    });
    await page.getByRole('table').waitFor();
    const stale = page.getByText(/^This is of \d.*: no valid token$/);
    /** Lets a little more than the interval pass until it helps: the interval begins after an answer. */
    const later = (ms: number, isThere: boolean): Promise<unknown> =>
      until('the view to ask again', async () => {
        await page.clock.fastForward(ms);
        return (await stale.count()) > 0 === isThere;
      });
    isRefused = true;
    await later(15_500, true);
    await page.locator('main').getByRole('button', { name: 'Sign in' }).waitFor();
    isRefused = false;
    await later(60_500, false);
    await page.getByRole('table').waitFor();
    isRefused = true;
    await later(15_500, true);
    isRefused = false;
    // The page listens for the focus a moment after it says that the answer is stale.
    await until('the view to ask when the user returns', async () => {
      await page.evaluate(`window.dispatchEvent(new Event('focus'))`);
      return (await stale.count()) === 0;
    });
    expect(complaints.filter((text) => !/status of 401/.test(text))).toEqual([]);
  });

  test('with a node down the answer is shown, and the page says which node is missing', async () => {
    await stage.cluster.agents[1]!.stop();
    await open('/?g0.expr=sum(svc_agent_up)');
    await run().click();
    const banner = page.locator('.degraded');
    await banner.waitFor();
    expect(await banner.textContent()).toContain('no answer from node-2');
    expect(await rows().allTextContents()).toEqual(['{}2']);
    const missing = page.locator('#nodes li.missing');
    await missing.waitFor();
    expect(await missing.allTextContents()).toEqual(['no answer: node-2']);
    expect(await page.locator('.warnings').textContent()).toContain('node node-2 is missing from this answer');
    expect(complaints).toEqual([]);
  });
});
