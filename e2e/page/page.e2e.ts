import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { findChromium, noChromium } from './browser.ts';

/** The query page in a real browser, in front of a query server over three agents. */
const program = findChromium();
const pageDir = fileURLToPath(new URL('../../dist/ui', import.meta.url));
const now = Math.floor(Date.now() / 15_000) * 15_000;
const requests = 'http_server_request_duration_count';
let stage: QueryStage;
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** What the browser's console and network complained about. */
let complaints: string[];

/** Opens the page of a server with an empty history. */
async function open(path = '/', port = stage.server.port): Promise<void> {
  context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1200, height: 900 } });
  page = await context.newPage();
  page.setDefaultTimeout(15_000);
  complaints = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (new URL(request.url()).host !== `localhost:${port}` && !request.url().startsWith('data:')) {
      complaints.push(`asks elsewhere: ${request.url()}`);
    }
  });
  await page.goto(`https://localhost:${port}${path}`);
}

const expression = () => page.getByRole('combobox', { name: 'PromQL expression' });
const rows = () => page.locator('#table tbody tr');
const option = (name: string) => page.getByRole('option', { name });

/** Writes a query as a person does, in place of the one that is there. */
async function write(query: string): Promise<void> {
  await expression().fill('');
  await expression().pressSequentially(query);
}

/** What is used of a canvas, by code that runs in the browser. */
interface Canvas {
  readonly width: number;
  readonly height: number;
  getContext(kind: '2d'): { getImageData(x: number, y: number, w: number, h: number): { data: Uint8ClampedArray } };
}

/** How many pixels of the graph have the colour of its first line. */
async function linePixels(): Promise<number> {
  return page.locator('#graph canvas').evaluate((element: unknown) => {
    const canvas = element as Canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i] === 0x33 && data[i + 1] === 0x66 && data[i + 2] === 0xcc && data[i + 3]! > 200) found++;
    }
    return found;
  });
}

if (program === undefined) {
  test('a browser is needed', () => {
    console.warn(noChromium);
  });
} else {
  beforeAll(async () => {
    stage = await startQueryStage({ pageDir });
    for (const node of ['node-1', 'node-2', 'node-3']) {
      for (let k = 0; k <= 80; k++) {
        const t = now - (80 - k) * 15_000;
        stage.cluster.append(node, { __name__: 'svc_agent_up' }, t, 1);
        for (const [service, perSample] of Object.entries({ catalog: 15, checkout: 30 })) {
          const labels = { __name__: requests, service_name: service, k8s_namespace_name: 'shop' };
          stage.cluster.append(node, labels, t, k * perSample);
        }
      }
    }
    browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });
  afterEach(() => context?.close());

  test('a query written with completion is answered by a graph, a table and the nodes', async () => {
    await open();
    await page.getByRole('list', { name: 'Nodes' }).getByText('node-3').waitFor();
    await write('sum by (serv');
    await option('service_name').waitFor();
    expect(await expression().getAttribute('aria-expanded')).toBe('true');
    await expression().press('Tab');
    await expression().pressSequentially(') (rat');
    await option('rate function').first().waitFor();
    await expression().press('Tab');
    await expression().pressSequentially('http_server_request_duration_c');
    await option(requests).waitFor();
    await expression().press('Tab');
    await expression().pressSequentially('{k8s_name');
    await option('k8s_namespace_name').waitFor();
    await expression().press('Tab');
    await expression().pressSequentially('="');
    await option('shop').waitFor();
    await expression().press('ArrowDown');
    expect(await expression().getAttribute('aria-activedescendant')).toBe('option-0');
    await expression().press('Enter');
    await expression().pressSequentially('}[5m]))');
    const query = `sum by (service_name) (rate(${requests}{k8s_namespace_name="shop"}[5m]))`;
    expect(await expression().inputValue()).toBe(query);
    await expression().press('Enter');
    await page.getByText(/^2 series in \d+ ms$/).waitFor();
    const cells = (await rows().allTextContents()).map((text) => text.split(/(?<=\})/));
    expect(cells.map(([series]) => series)).toEqual(['{service_name="catalog"}', '{service_name="checkout"}']);
    const [catalog, checkout] = cells.map(([, value]) => Number(value));
    expect([catalog! > 1, checkout! / catalog!]).toEqual([true, expect.closeTo(2)]);
    expect(await linePixels()).toBeGreaterThan(300);
    expect(new URL(page.url()).searchParams.get('g0.expr')).toBe(query);
    // The address is all there is to it: the page comes back with it.
    await page.reload();
    await page.getByText(/^2 series in \d+ ms$/).waitFor();
    expect(await expression().inputValue()).toBe(query);
    expect(complaints).toEqual([]);
  });

  test('an error shows its place, takes the old answer away, and is gone with the next query', async () => {
    await open('/graph?g0.expr=svc_agent_up');
    await page.getByText(/^3 series in/).waitFor();
    await write('sum(svc_agent_up');
    await expression().press('Shift+Enter');
    await expression().pressSequentially(' / ]');
    await expression().press('Enter');
    const error = page.locator('#error');
    await error.waitFor();
    expect(await error.textContent()).toBe("2:4: parse error: unexpected right bracket ']'\n\n / ]\n   ^");
    expect(await expression().getAttribute('aria-invalid')).toBe('true');
    expect(await rows().count()).toBe(0);
    expect(await page.locator('#graph canvas').count()).toBe(0);
    await write('sum(svc_agent_up)');
    await page.getByRole('button', { name: 'Run' }).press('Enter');
    await page.getByText(/^1 series in/).waitFor();
    expect([await error.isHidden(), await expression().getAttribute('aria-invalid')]).toEqual([true, 'false']);
    // The browser itself notes answers of 400; nothing else was wrong.
    expect(complaints.filter((text) => !/status of 400/.test(text))).toEqual([]);
  });

  test('everything is reached by the keyboard, and Escape closes what is open', async () => {
    await open('/?g0.expr=svc_agent_up');
    await page.getByText(/^3 series in/).waitFor();
    await expression().focus();
    await expression().press('End');
    await expression().pressSequentially(' + ab');
    await option('absent_over_time').waitFor();
    await expression().press('Escape');
    expect(await page.getByRole('listbox').isHidden()).toBe(true);
    expect(await expression().inputValue()).toBe('svc_agent_up + ab');
    await expression().press('Control+Space');
    await option('absent_over_time').waitFor();
    await expression().press('Escape');
    const order: string[] = [];
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press('Tab');
      const focused = page.locator(':focus');
      order.push((await focused.getAttribute('id')) ?? (await focused.textContent()) ?? '');
    }
    expect(order).toEqual(['range', 'Run', 'live']);
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
    await page.locator('#error').waitFor();
    expect(await page.locator('#error').textContent()).toMatch(/token/);
    await page.getByRole('button', { name: 'token…' }).click();
    await page.getByLabel(/Bearer token/).fill('sesame');
    await page.keyboard.press('Enter');
    await page.getByText(/^3 series in/).waitFor();
    expect(complaints.filter((text) => !/status of 401/.test(text))).toEqual([]);
  });

  test('with a node gone the answer is there, and the page says which node it lacks', async () => {
    await stage.cluster.agents[1]!.stop();
    await open('/?g0.expr=sum(svc_agent_up)');
    const banner = page.locator('#degraded');
    await banner.waitFor();
    expect(await banner.textContent()).toContain('no answer from node-2');
    expect(await rows().allTextContents()).toEqual(['{}2']);
    const missing = page.locator('#nodes li.missing');
    await missing.waitFor();
    expect(await missing.allTextContents()).toEqual(['node-2']);
    expect(await page.locator('#warnings').textContent()).toContain('node node-2 is missing from this answer');
    expect(complaints).toEqual([]);
  });
}
