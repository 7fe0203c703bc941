import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Browser, Page, Route } from 'playwright-core';
import { lostNodeWarning } from '../../src/api/page/lost-node.ts';
import type { Objects } from '../../src/api/page/types.ts';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { needing } from '../../src/testing/needs.ts';
import { until } from '../../src/testing/until.ts';
import { browserNeed } from './browser.ts';
import {
  fixtureExplanation,
  fixtureObjects,
  fixtureServices,
  fixtureTopology,
  large,
  small,
  type FixtureSize,
} from './fixture.ts';
import { openTab, startBrowser, type Tab } from './tab.ts';

/** The views of the page in a real browser, over made-up answers of the page's own API. */

const pageDir = fileURLToPath(new URL('../../dist/ui', import.meta.url));
let stage: QueryStage;
let browser: Browser;
let tab: Tab;
let page: Page;
let complaints: readonly string[];

/** The state of every answer of the server. */
type State = 'whole' | 'empty' | 'degraded' | 'forbidden' | 'loading';

const refused = {
  status: 403,
  json: {
    status: 'error',
    errorType: 'forbidden',
    error: 'ann may not get /promql: ask for ClusterRole svc-promql-reader',
  },
};

/** The answer with all of its lists empty. */
const emptied = (data: object): object =>
  Array.isArray(data)
    ? []
    : Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Array.isArray(value) ? [] : (value as unknown)]),
      );

async function open(path: string, { size = small, state = 'whole', ...how }: Partial<Opened> = {}): Promise<void> {
  /** No two answers wait equally long for a missing node. */
  let waitedMs = 10_000;
  const answer = async (route: Route, data: object): Promise<void> => {
    if (state === 'loading') return;
    if (state === 'forbidden') return route.fulfill(refused);
    const missingNodes = state === 'degraded' ? ['node-3'] : [];
    const warnings = missingNodes.flatMap((node) => [
      lostNodeWarning(node, `timeout after ${waitedMs++} ms: no answer`),
      `${node} has a clock of its own`,
    ]);
    const shown = state === 'empty' ? emptied(data) : data;
    const json = { status: 'success', data: shown, degraded: missingNodes.length > 0, missingNodes, warnings };
    return route.fulfill({ json });
  };
  let turn = 0;
  tab = await openTab(browser, `https://localhost:${stage.server.port}/${path}`, {
    ...how,
    before: async (context) => {
      await context.route(/\/api\/v1\/services/, (route) => answer(route, fixtureServices(size)));
      await context.route(/\/api\/v1\/topology/, (route) => answer(route, fixtureTopology(size, turn++)));
      await context.route(/\/api\/v1\/explain/, (route) => answer(route, fixtureExplanation));
      await context.route(/\/api\/v1\/objects/, (route) => {
        const kind = new URL(route.request().url()).searchParams.get('kind') as Objects['kind'];
        return answer(route, fixtureObjects(kind, size, Date.now()));
      });
    },
  });
  ({ page, complaints } = tab);
}

interface Opened {
  readonly size: FixtureSize;
  readonly width: number;
  readonly height: number;
  readonly dark: boolean;
  readonly forcedColors: boolean;
  readonly state: State;
}

needing(browserNeed).describe('the views of the page', () => {
  beforeAll(async () => {
    stage = await startQueryStage({ pageDir });
    browser = await startBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });
  afterEach(() => tab?.close());

  test('what the first view loads stays below 350 KiB gzipped', async () => {
    await open('');
    await page.getByRole('table').waitFor();
    const loaded: string[] = await page.evaluate(
      `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)`,
    );
    const files = ['/index.html', ...loaded.filter((path) => /\.(js|css)$/.test(path))];
    const sizes = await Promise.all(files.map(async (file) => gzipSync(await readFile(pageDir + file)).length));
    const kib = sizes.reduce((a, b) => a + b, 0) / 1024;
    console.log(`first view: ${kib.toFixed(1)} KiB gzipped in ${files.length} files`);
    expect(files.length).toBeGreaterThan(2);
    expect(kib).toBeLessThan(350);
    expect(complaints).toEqual([]);
  });

  const views = [
    ['services', 'Services'],
    ['service?ns=shop&name=gateway&kind=Deployment', 'Service'],
    ['map', 'Map'],
    ['nodes', 'Nodes'],
    ['objects', 'Objects'],
    ['graph', 'Query'],
  ] as const;
  const sizes = [
    [375, true],
    [375, false],
    [1280, true],
    [1280, false],
    [2560, false],
  ] as const;

  test.each(views.flatMap(([path, title]) => sizes.map(([width, dark]) => [path, title, width, dark] as const)))(
    '%s (%s) at %p px, dark: %p: breaks no rule of accessibility, does not overflow, and logs no error',
    async (path, title, width, dark) => {
      await open(path, { width, dark });
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await page.locator('table, .panel').first().waitFor();
      await nothingWrong([]);
    },
  );

  /** State → words that every view shows in this state. */
  const words: Readonly<Record<Exclude<State, 'whole'>, RegExp>> = {
    empty: /\bno(thing)?\b|\bnone\b/i,
    degraded: /node-3/,
    forbidden: /may not|forbidden/i,
    loading: /loading|asking|reading|waiting/i,
  };
  const states = Object.keys(words) as (keyof typeof words)[];

  test.each(
    views.slice(0, -1).flatMap(([path, title]) => states.map((state, i) => [path, title, state, i % 2 === 0] as const)),
  )('%s (%s), %s, on a phone: %p: shows the state without any problem', async (path, title, state, isPhone) => {
    await open(path, { width: isPhone ? 375 : 1280, state });
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    await page.locator('main').getByText(words[state]).first().waitFor();
    await nothingWrong(state === 'forbidden' ? [/status of 403/] : []);
  });

  async function nothingWrong(expected: readonly RegExp[]): Promise<void> {
    expect(await tab.violations()).toEqual([]);
    // Only elements with a scroll bar of their own may be wider than the page.
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(complaints.filter((text) => !expected.some((one) => one.test(text)))).toEqual([]);
  }

  test('services are filtered while the user types, and the address restores the filter', async () => {
    await open('services');
    await page.getByText('20 workloads').waitFor();
    await page.getByRole('searchbox').pressSequentially('ns:shop is:failing');
    await page.getByRole('status').getByText('2 of 20 workloads').waitFor();
    await page.reload();
    await page.getByText('2 of 20 workloads').waitFor();
    expect(await page.locator('tbody tr .workload b').allTextContents()).toEqual(['orders', 'checkout']);
  });

  test('a service shows for each pod whether it is captured, and if not, why', async () => {
    await open('service?ns=shop&name=gateway&kind=Deployment');
    const pods = page.getByRole('region', { name: 'Pods' }).locator('tbody tr');
    await pods.first().waitFor();
    expect(await pods.allTextContents()).toEqual([
      'gateway-7d9f-x0node-1✓ nothing stands in the way',
      'gateway-7d9f-x1node-2✕ excluded by a label leave the label out',
    ]);
    await page.getByText('How it is decided for gateway-7d9f-x1').waitFor();
    await page.getByText('Settings, and where each comes from').click();
    await page.getByRole('cell', { name: 'ClusterTrafficPolicy/default (defaults)' }).waitFor();
    expect(await tab.violations()).toEqual([]);
  });

  test('the address of a service without a kind shows the first workload of that name, of its own kind', async () => {
    await open('services');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(decodeURIComponent(request.url())));
    await page.goto(new URL('service?ns=shop&name=gateway', page.url()).href);
    await page.getByRole('heading', { name: 'shop/gateway Deployment' }).waitFor();
    await page.getByText('How it is decided for gateway-7d9f-x1').waitFor();
    await page.getByRole('region', { name: 'Errors' }).getByText('Nothing in the last hour.').waitFor();
    // The agents of this stage hold no spans, which is an alert about missing nodes. Nothing else may fail.
    expect(await page.locator('.note.bad').allTextContents()).toEqual([]);
    const explained = asked.filter((text) => text.includes('/explain'));
    expect(explained.map((text) => new URL(text).searchParams.get('kind'))).toEqual(['Deployment']);
    const ranges = asked.filter((text) => text.includes('/query_range'));
    expect(ranges).toHaveLength(3);
    for (const text of ranges) expect(text).toContain('k8s_kind="Deployment"');
    expect(complaints).toEqual([]);
  });

  test('a service names missing nodes once, above all of its numbers', async () => {
    await open('service?ns=shop&name=gateway&kind=Deployment', { state: 'degraded' });
    await page.getByRole('region', { name: 'Pods' }).waitFor();
    await page.getByRole('heading', { name: /^Called by/ }).waitFor();
    await page.getByText('Monitors', { exact: true }).waitFor();
    expect(await page.getByRole('alert').allTextContents()).toEqual([
      expect.stringMatching(/Degraded: no answer from .*node-3\./),
    ]);
    const tops = await page
      .locator('.degraded, dl.facts, section')
      .evaluateAll((all: unknown[]) =>
        all.map((one) => (one as { getBoundingClientRect(): { top: number } }).getBoundingClientRect().top),
      );
    expect(Math.min(...tops)).toBe((await page.getByRole('alert').boundingBox())!.y);
  });

  test.each(['map', 'service?ns=shop&name=gateway&kind=Deployment'])(
    '%s shows a warning of its answers once, and when asked why, one reason of a missing node',
    async (path) => {
      await open(path, { state: 'degraded' });
      await page.getByText('node-3 has a clock of its own').waitFor();
      if (path !== 'map') await page.getByRole('heading', { name: /^Called by/ }).waitFor();
      expect(await page.getByText('node-3 has a clock of its own').count()).toBe(1);
      expect(await page.getByText('node node-3 is missing from this answer').count()).toBe(1);
      await page.getByText('Why there is no answer').click();
      await page.getByText(/^node node-3 is missing from this answer: timeout after \d+ ms: no answer$/).waitFor();
      expect([await tab.violations(), complaints]).toEqual([[], []]);
    },
  );

  test('the window of the map is chosen with the keyboard, also when nothing was seen in the shorter ones', async () => {
    await open('map', { state: 'empty' });
    await page.getByText('No traffic in this time').waitFor();
    await page.getByLabel('Window').focus();
    for (const window of ['15m', '1h']) {
      const asked = page.waitForRequest(new RegExp(`/topology.*window=${window}`));
      await page.keyboard.press('ArrowDown');
      await asked;
      await page.getByText('No traffic in this time').waitFor();
    }
    expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Window');
    expect(complaints).toEqual([]);
  });

  test('the chosen window is kept on the way to a service, to the map and back', async () => {
    await open('services?window=1h');
    await page.getByRole('link', { name: 'shop/gateway Deployment' }).click();
    await page.getByRole('heading', { name: /^Calls/ }).waitFor();
    expect(await page.getByLabel('Window').inputValue()).toBe('1h');
    await page.getByRole('region', { name: 'Calls' }).getByRole('link').first().click();
    await page.getByRole('complementary', { name: 'Chosen edge' }).waitFor();
    expect(await page.getByLabel('Window').inputValue()).toBe('1h');
    await page.goBack();
    await page.getByRole('main').getByRole('link', { name: 'Services', exact: true }).click();
    await page.getByText('20 workloads').waitFor();
    expect(await page.getByLabel('Window').inputValue()).toBe('1h');
    await page.getByLabel('Window').selectOption('5m');
    await page.getByRole('link', { name: 'shop/gateway Deployment' }).click();
    expect(new URL(page.url()).search).toBe('?ns=shop&name=gateway&kind=Deployment');
    expect(complaints).toEqual([]);
  });

  test('a failing edge of the map is found by its sign, and shows its numbers and their PromQL', async () => {
    await open('map');
    const first = page.locator('tbody tr').first();
    await first.getByText(/✕/).waitFor();
    await first.getByRole('button', { name: '→' }).click();
    const chosen = page.getByRole('complementary', { name: 'Chosen edge' });
    await chosen.getByText(/sum\(rate\(http_server_request_duration_count/).waitFor();
    expect(new URL(page.url()).searchParams.get('chosen')).toContain('>');
    await page.getByText(/^Fold namespaces/).click();
    await page.getByRole('button', { name: 'all', exact: true }).click();
    await page.getByText('5 nodes').waitFor();
    expect(complaints).toEqual([]);
  });

  test('a node and an edge of the map are chosen, read and closed with the keyboard', async () => {
    await open('map');
    const press = async (name: string): Promise<void> => {
      await page.locator('tbody').getByRole('button', { name, exact: true }).first().focus();
      await page.keyboard.press('Enter');
    };
    const focused = () => page.locator(':focus');
    const label = (): Promise<string | null> => focused().getAttribute('aria-label');
    await page.getByRole('img', { name: 'the table below has all of its 28 edges' }).waitFor();
    await press('shop/gateway');
    await until('the focus on the node', label, { good: (text) => text === 'Chosen node' });
    expect(await tab.isFocusSeen()).toBe(true);
    expect(await focused().getByRole('heading', { level: 2 }).textContent()).toBe('shop/gateway');
    expect(await page.locator('tbody').getByRole('button', { pressed: true }).first().textContent()).toBe(
      'shop/gateway',
    );
    const callees = focused().getByRole('list').last();
    await callees.getByRole('button').first().focus();
    await page.keyboard.press('Enter');
    await until('the focus on the edge', label, { good: (text) => text === 'Chosen edge' });
    const edge = (await focused().getByRole('heading', { level: 2 }).textContent())!;
    expect(edge).toMatch(/^shop\/gateway → /);
    expect(await tab.violations()).toEqual([]);
    await page.keyboard.press('Escape');
    await until('the focus on what opened it', async () => (await focused().textContent()) === 'shop/gateway');
    expect(await tab.isFocusSeen()).toBe(true);
    expect(new URL(page.url()).search).toBe('');
    await press(edge);
    await page.getByRole('complementary', { name: 'Chosen edge' }).getByRole('button', { name: 'Close' }).focus();
    await page.keyboard.press('Enter');
    await until('the focus on the edge again', label, { good: (text) => text === edge });
    expect(complaints).toEqual([]);
  });

  test('a node of the map without an edge is chosen with the keyboard too', async () => {
    await open('map');
    await page.getByRole('button', { name: 'platform/payments', exact: true }).focus();
    await page.keyboard.press('Enter');
    const chosen = page.getByRole('complementary', { name: 'Chosen node' });
    await chosen.getByRole('heading', { name: 'platform/payments' }).waitFor();
    expect(await tab.violations()).toEqual([]);
    await page.keyboard.press('Escape');
    const focused = (): Promise<string | null> => page.locator(':focus').textContent();
    await until('the focus on what opened it', focused, { good: (text) => text === 'platform/payments' });
    expect(complaints).toEqual([]);
  });

  test('what the address chose on the map does not take the focus, and stays when it has no traffic', async () => {
    await open('map?chosen=gone');
    const chosen = page.getByRole('complementary', { name: 'Chosen node' });
    await chosen.getByText('It had no traffic in this time').waitFor();
    await page.getByLabel('Window').focus();
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(/window=15m/);
    await chosen.waitFor();
    expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Window');
    await chosen.getByRole('button', { name: 'Close' }).click();
    await chosen.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  test.each([false, true])(
    'fields, buttons and edges of the map can be told from what is around them, dark: %p',
    async (dark) => {
      await open('map', { dark });
      await until('the map is drawn', () => tab.drawn('.map canvas'), { good: (pixels) => pixels > 1_000 });
      const style = (selector: string, name: string): string =>
        `getComputedStyle(document.querySelector('${selector}')).${name}`;
      const behind = style(':root', 'backgroundColor');
      for (const control of ['select', 'button:not(.plain)']) {
        for (const beside of [behind, style(control, 'backgroundColor')]) {
          expect(await tab.contrast(style(control, 'borderTopColor'), '1', beside)).toBeGreaterThanOrEqual(3);
        }
      }
      for (const level of ['none', 'good', 'warn', 'bad']) {
        const edge = `document.querySelector('.map-frame .map')._cyreg.cy.edges('[level="${level}"]')`;
        const [colour, opacity] = [`${edge}.style('line-color')`, `${edge}.style('line-opacity')`];
        expect(await tab.contrast(colour, opacity, behind)).toBeGreaterThanOrEqual(3);
      }
    },
  );

  test('where the user forces colours, a failing edge of the map still has a colour of its own', async () => {
    await open('map', { forcedColors: true });
    await until('the map is drawn', () => tab.drawn('.map canvas'), { good: (pixels) => pixels > 1_000 });
    const colours: string[] = await page.evaluate(
      `['good', 'warn', 'bad'].map((level) =>
        document.querySelector('.map-frame .map')._cyreg.cy.edges('[level="' + level + '"]').style('line-color'))`,
    );
    expect(new Set(colours).size).toBe(3);
    expect([await tab.violations(), complaints]).toEqual([[], []]);
  });

  test.each([375, 1280])('at %p px what gets the focus is nowhere hidden, on the way up either', async (width) => {
    await open('services', { width, height: 500 });
    await page.getByRole('link', { name: 'shop/gateway Deployment' }).waitFor();
    await page.locator('tbody a').last().focus();
    const hidden: (string | null)[] = [];
    for (let i = 0; i < 19; i++) {
      await page.keyboard.press('Shift+Tab');
      if (!(await tab.isFocusSeen())) hidden.push(await page.locator(':focus').textContent());
    }
    expect(hidden).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('a tap on a workload chooses it, a tap on the box of a namespace chooses nothing', async () => {
    await open('map');
    await until('the map is drawn', () => tab.drawn('.map canvas'), { good: (pixels) => pixels > 1_000 });
    /** Taps a place of the map. `point` is an expression that gives it in the drawing library's own coordinates. */
    const tap = async (point: string): Promise<void> => {
      const at: [number, number] = await page.evaluate(`(() => {
        const host = document.querySelector('.map-frame .map');
        const { left, top } = host.getBoundingClientRect();
        const cy = host._cyreg.cy;
        const { x, y } = ${point};
        return [left + x, top + y];
      })()`);
      await page.mouse.click(...at);
    };
    const chosen = () => page.getByRole('complementary', { name: 'Chosen node' });
    await tap(`cy.getElementById('workload/shop/Deployment/gateway').renderedPosition()`);
    await chosen().getByRole('heading', { name: 'shop/gateway' }).waitFor();
    await tap(`(({ x1, y1 }) => ({ x: x1 + 3, y: y1 + 3 }))(
      cy.getElementById('group:shop').renderedBoundingBox({ includeLabels: false }))`);
    await chosen().waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('');
    expect(complaints).toEqual([]);
  });

  test('a map of 500 workloads and 2,000 edges is drawn', async () => {
    await open('map', { size: large });
    await page.getByText('502 nodes, 2000 edges').waitFor();
    await page.getByRole('img', { name: 'the table below has the first 200 of its 2000 edges' }).waitFor();
    await until('the map is drawn', () => tab.drawn('.map canvas'), { good: (pixels) => pixels > 10_000 });
    expect(complaints).toEqual([]);
  });
});
