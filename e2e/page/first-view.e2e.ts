/** What the page does before it draws its first rows, and the rows that follow them. */
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Request } from 'playwright-core';
import { startQueryStage, type QueryStage } from '../../src/testing/query/query-stage.ts';
import { needing } from '../../src/testing/needs.ts';
import { browserNeed } from './browser.ts';
import { fixtureServices, fixtureTopology, large } from './fixture.ts';
import { openTab, startBrowser, type Tab } from './tab.ts';

const pageDir = fileURLToPath(new URL('../../dist/ui', import.meta.url));
const tokenScript = `sessionStorage.setItem('svc-token', 'of-ann')`;
/** Never runs idle callbacks: the page stays as it is right after the first rows. */
const neverIdle = 'globalThis.requestIdleCallback = () => 0;';
let stage: QueryStage;
let browser: Browser;
let tab: Tab;
let asked: Request[];

async function open(
  path: string,
  script?: string,
  before?: (context: BrowserContext) => Promise<unknown>,
): Promise<void> {
  asked = [];
  const answer = (context: BrowserContext, pattern: RegExp, data: unknown): Promise<unknown> =>
    context.route(pattern, (route) => {
      asked.push(route.request());
      return route.fulfill({ json: { status: 'success', data, degraded: false, missingNodes: [] } });
    });
  tab = await openTab(browser, `https://localhost:${stage.server.port}/${path}`, {
    before: async (context) => {
      if (script !== undefined) await context.addInitScript({ content: script });
      await answer(context, /\/api\/v1\/services/, fixtureServices(large));
      await answer(context, /\/api\/v1\/topology/, fixtureTopology(large));
      await before?.(context);
    },
  });
}

const bodyRows = () => tab.page.locator('tbody tr');
const lastRow = () => tab.page.locator('tr[aria-rowindex="501"]');

needing(browserNeed).describe('the first view of 500 workloads', () => {
  beforeAll(async () => {
    stage = await startQueryStage({ pageDir });
    browser = await startBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });
  afterEach(() => tab?.close());

  test('the first rows fill the window, and the table says how many there are in all', async () => {
    await open('services', neverIdle);
    await bodyRows().first().waitFor();
    const drawn = await bodyRows().count();
    expect(drawn).toBeLessThan(50);
    expect(
      (await bodyRows()
        .nth(drawn - 1)
        .boundingBox())!.y,
    ).toBeGreaterThan(900);
    const table = tab.page.getByRole('table');
    expect(await table.getAttribute('aria-rowcount')).toBe('501');
    expect([await tab.violations(), tab.complaints]).toEqual([[], []]);
  });

  test('all other rows follow without a user’s action, each with its index and in its order', async () => {
    await open('services');
    await lastRow().waitFor();
    const indices = await bodyRows().evaluateAll((rows: unknown[]) =>
      rows.map((row) => (row as { getAttribute(name: string): string }).getAttribute('aria-rowindex')),
    );
    expect(indices).toEqual(Array.from({ length: 500 }, (_, i) => String(i + 2)));
    await tab.page.getByRole('button', { name: 'Workload' }).click();
    await tab.page.locator('th[aria-sort="ascending"]').waitFor();
    const names = (await bodyRows().locator('a.workload').allTextContents()).map((text) => text.split(' ')[0]!);
    expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b)));
    expect([await tab.violations(), tab.complaints]).toEqual([[], []]);
  });

  test('the keyboard goes from the first rows to rows that were drawn later, up to the last', async () => {
    await open('services');
    await lastRow().waitFor();
    const index = (): Promise<string> =>
      tab.page.evaluate(`document.activeElement.closest('tr').getAttribute('aria-rowindex')`);
    await bodyRows().nth(27).locator('a').focus();
    for (const expected of ['30', '31', '32']) {
      await tab.page.keyboard.press('Tab');
      expect(await index()).toBe(expected);
    }
    await tab.page.keyboard.press('End');
    await bodyRows().nth(498).locator('a').focus();
    await tab.page.keyboard.press('Tab');
    expect(await index()).toBe('501');
    const box = (await lastRow().boundingBox())!;
    expect(box.y + box.height).toBeLessThanOrEqual(900);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { level: 1, name: 'Service' }).waitFor();
  });

  test('the filter finds a row that is not drawn yet', async () => {
    await open('services', neverIdle);
    await bodyRows().first().waitFor();
    const [drawn, all] = [await bodyRows().locator('b').allTextContents(), fixtureServices(large)];
    const { namespace, workload } = all.findLast((one) => !drawn.includes(one.workload))!;
    await tab.page.getByRole('searchbox').fill(`${namespace}/${workload}`);
    await tab.page.getByText(/^\d+ of 500 workloads$/).waitFor();
    expect(await bodyRows().locator('b').allTextContents()).toContain(workload);
    await tab.page.locator('table[aria-rowcount="2"]').waitFor();
  });

  test.each([
    ['', 'services?window=5m'],
    ['services?window=1h&filter=shop', 'services?window=1h'],
    ['services?window=1y', 'services?window=5m'],
    ['map?window=15m', 'topology?by=workload&window=15m'],
  ])('/%s requests %s once, before the code of the page has loaded', async (path, question) => {
    // The code of the page is held back until the request is sent.
    const { promise: isAsked, resolve } = Promise.withResolvers<void>();
    await open(path, tokenScript, async (context) => {
      context.on('request', (request) => request.url().includes('/api/v1/') && resolve());
      await context.route(/\/app\.js$/, async (route) => {
        await isAsked;
        await route.continue();
      });
    });
    await tab.page.locator('tbody tr').first().waitFor();
    expect(asked.map((request) => request.url().split('/api/v1/')[1])).toEqual([question]);
    expect(await asked[0]!.headerValue('authorization')).toBe('Bearer of-ann');
    expect(tab.complaints).toEqual([]);
  });

  test('a view that needs no data at first sends no early request', async () => {
    await open('graph');
    await tab.page.locator('.panel').first().waitFor();
    expect(asked).toEqual([]);
  });
});
