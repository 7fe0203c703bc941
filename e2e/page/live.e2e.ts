import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { SpanRecord, StreamRequest } from '../../src/stream/index.ts';
import { needing } from '../../src/testing/needs.ts';
import { startStreamStage } from '../../src/testing/query/stream-stage.ts';
import type { StreamAgent, StreamStage } from '../../src/testing/query/stream-stage.ts';
import { until } from '../../src/testing/until.ts';
import { browserNeed } from './browser.ts';
import { fixtureExplanation, fixtureServices, fixtureTopology, small } from './fixture.ts';
import { openTab, startBrowser, type Tab } from './tab.ts';

/**
 * The page's views of the stream of spans and flows, in a real browser, over a real query server and the streams of
 * real agents.
 */

const pageDir = fileURLToPath(new URL('../../dist/ui', import.meta.url));
let stage: StreamStage;
let browser: Browser;
let tab: Tab;
let page: Page;
/** The page's requests to the stream. */
let asked: StreamRequest[];
let count = 0;

interface Opened {
  readonly width: number;
  readonly dark: boolean;
  readonly port: number;
  /** Whether answers to all requests except the stream are made up. */
  readonly madeUp: boolean;
  /** Whether the test can advance the tab's clock. */
  readonly clock: boolean;
}

async function open(path: string, options: Partial<Opened> = {}): Promise<void> {
  const { port = stage.server.port, madeUp = false, clock = false, ...how } = options;
  asked = [];
  tab = await openTab(browser, `https://localhost:${port}/${path}`, {
    ...how,
    before: async (context) => {
      context.on('request', (request) => {
        if (request.url().endsWith('/v1/stream')) asked.push(JSON.parse(request.postData()!) as StreamRequest);
      });
      if (madeUp) await makeUpAnswers(context);
      if (clock) await context.clock.install();
    },
  });
  page = tab.page;
  // Each test has agents, a query server and certificates of its own: that takes long on a busy machine.
  page.setDefaultTimeout(40_000);
}

async function makeUpAnswers(context: BrowserContext): Promise<void> {
  const answer = (data: unknown) => ({ json: { status: 'success', data, degraded: false, missingNodes: [] } });
  const metric = { k8s_namespace_name: 'shop', k8s_deployment_name: 'gateway', http_route: '/cart/{id}' };
  const vector = { resultType: 'vector', result: [{ metric, value: [Date.now() / 1000, '1'] }] };
  await context.route(/\/api\/v1\//, (route) => route.fulfill(answer([])));
  await context.route(/\/api\/v1\/query/, (route) => route.fulfill(answer({ resultType: 'matrix', result: [] })));
  await context.route(/\/api\/v1\/query(\?|$)/, (route) => route.fulfill(answer(vector)));
  await context.route(/\/api\/v1\/services/, (route) => route.fulfill(answer(fixtureServices(small))));
  await context.route(/\/api\/v1\/explain/, (route) => route.fulfill(answer(fixtureExplanation)));
  await context.route(/\/api\/v1\/topology/, (route) => route.fulfill(answer(fixtureTopology(small))));
}

/** A request that an agent saw just now, with ids of its own. */
function push(agent: StreamAgent, path: string, change: Partial<SpanRecord> = {}): void {
  const id = `${count++}`;
  const own = { namespace: 'shop', pod: 'gateway-1', workload: { kind: 'Deployment', name: 'gateway' } };
  const http = { method: 'GET', path, route: '/cart/{id}', statusCode: 200, durationNs: 5_000_000 };
  agent.push(
    {
      traceId: id.padStart(32, 'a'),
      spanId: id.padStart(16, 'b'),
      attributes: { 'server.port': 8080 },
      ...own,
      ...http,
      ...change,
    },
    Date.now(),
  );
}

const rows = () => page.locator('table.items tbody tr');
const shown = () => page.locator('table.items tbody button').allTextContents();
const row = (text: string) => page.getByRole('button', { name: text, exact: true });
const details = () => page.getByRole('complementary', { name: /^Chosen/ });

needing(browserNeed).describe('the stream on the page', () => {
  beforeAll(async () => {
    browser = await startBrowser();
  }, 60_000);
  beforeEach(async () => {
    stage = await startStreamStage(['node-1', 'node-2'], { pageDir });
  });
  afterEach(async () => {
    await tab.close();
    await stage.close();
  });
  afterAll(() => browser?.close());

  test('spans and flows of all nodes are shown as they come, the newest first', async () => {
    const [first, second] = stage.agents;
    push(first!, '/before');
    await open('live');
    await row('GET /before').waitFor();
    await page.getByText('live · 2 nodes · 1 received · 1 shown').waitFor();
    push(second!, '/later');
    await row('GET /later').waitFor();
    second!.pushFlow(
      {
        source: { namespace: 'shop', name: 'gateway-1', kind: 'Pod' },
        destination: { address: '203.0.113.9', port: 443 },
      },
      Date.now(),
    );
    await page.getByText('203.0.113.9:443').waitFor();
    expect(await shown()).toEqual(['request', 'GET /later', 'GET /before']);
    expect(tab.complaints).toEqual([]);
  });

  test('filters go to the nodes and into the address, which restores them', async () => {
    const [agent] = stage.agents;
    push(agent!, '/cart/7', { statusCode: 503 });
    push(agent!, '/cart/8');
    await open('live');
    await row('GET /cart/8').waitFor();
    await page.getByLabel('Namespace').fill('shop');
    await page.getByLabel('Status').fill('5+');
    await page.getByLabel('Status').press('Enter');
    await row('GET /cart/8').waitFor({ state: 'detached' });
    await row('GET /cart/7').waitFor();
    expect(new URL(page.url()).search).toBe('?ns=shop&status=5%2B');
    expect(asked.at(-1)!.include).toEqual([{ namespace: ['shop'], status: ['5+'] }]);
    await page.reload();
    await row('GET /cart/7').waitFor();
    expect(await shown()).toEqual(['GET /cart/7']);
    expect([await page.getByLabel('Status').inputValue(), await page.getByText('Filters (2)').count()]).toEqual([
      '5+',
      1,
    ]);
    await page.getByText('this filter shows spans only').waitFor();
    await page.getByLabel('Path').fill('/cart/(');
    await page.getByLabel('Path').press('Enter');
    await page.getByRole('alert').getByText('path: not an RE2 pattern').waitFor();
    expect(tab.complaints.filter((text) => !/status of 400/.test(text))).toEqual([]);
  });

  test('text typed into a filter stays while rows come', async () => {
    await open('live');
    await page.getByText('Nothing yet').waitFor();
    await page.getByLabel('Path').pressSequentially('/half');
    push(stage.agents[0]!, '/new');
    await row('GET /new').waitFor();
    expect(await page.getByLabel('Path').inputValue()).toBe('/half');
  });

  test('a pause holds rows back and counts them, and its end shows them', async () => {
    const [agent] = stage.agents;
    push(agent!, '/1');
    await open('live');
    await row('GET /1').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    push(agent!, '/2');
    push(agent!, '/3');
    await page.getByText('paused: 2 held back').waitFor();
    expect(await shown()).toEqual(['GET /1']);
    await page.getByRole('button', { name: 'Resume' }).click();
    await row('GET /3').waitFor();
    expect(await shown()).toEqual(['GET /3', 'GET /2', 'GET /1']);
  });

  test('a span is read with the keyboard, and leads to its trace, its service and a query', async () => {
    const [agent] = stage.agents;
    push(agent!, '/older', { traceId: '1'.repeat(32) });
    push(agent!, '/newer', {
      traceId: '2'.repeat(32),
      attributes: { 'server.port': 8080, 'user_agent.original': 'curl' },
    });
    await open('live');
    await row('GET /older').waitFor();
    await row('GET /newer').focus();
    await page.getByText('paused: 0 held back').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await details().waitFor();
    expect(await details().evaluate((element) => element.matches(':focus'))).toBe(true);
    expect(await details().textContent()).toMatch(/2{32}.*shop\/gateway-1.*user_agent\.originalcurl/);
    await page.keyboard.press('Escape');
    expect(await details().count()).toBe(0);
    expect(await page.locator(':focus').textContent()).toBe('GET /newer');
    await page.keyboard.press('Enter');
    const links = await details().getByRole('link').all();
    const places = await Promise.all(links.map((link) => link.getAttribute('href')));
    expect(places.slice(0, 3)).toEqual([
      `live?trace=${'2'.repeat(32)}`,
      'service?ns=shop&name=gateway&kind=Deployment',
      'live?ns=shop&workload=Deployment%2Fgateway',
    ]);
    expect(new URLSearchParams(places[3]!.replace(/^graph\?/, '')).get('g0.expr')).toContain('http_route="/cart/{id}"');
    await details().getByRole('link', { name: 'The whole trace' }).click();
    await row('GET /older').waitFor({ state: 'detached' });
    await row('GET /newer').waitFor();
    const isOnMain = (): Promise<boolean> => page.getByRole('main').evaluate((element) => element.matches(':focus'));
    await until('the focus on the new rows', isOnMain);
    await row('GET /newer').click();
    await details().getByRole('link', { name: 'its spans' }).click();
    await row('GET /older').waitFor();
    await until('the focus on the new rows', isOnMain);
    expect(tab.complaints).toEqual([]);
  });

  test('on a phone, the details of a span close when the focus leaves them, so that they hide nothing', async () => {
    for (let i = 0; i < 30; i++) push(stage.agents[0]!, `/${i}`);
    await open('live', { width: 375 });
    await row('GET /29').click();
    await until('the focus', () => details().evaluate((element) => element.matches(':focus')));
    for (let i = 0; i < 20 && (await details().count()) > 0; i++) await page.keyboard.press('Tab');
    expect(await details().count()).toBe(0);
    for (let i = 0; i < 29; i++) {
      expect(await tab.isFocusSeen()).toBe(true);
      await page.keyboard.press('Tab');
    }
    await row('GET /20').click();
    await details().waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator(':focus').textContent()).toBe('GET /20');
    expect(tab.complaints).toEqual([]);
  });

  test('a missing node is named with the reason until it is back', async () => {
    const [agent, other] = stage.agents;
    push(agent!, '/1');
    await open('live');
    await page.getByText('live · 2 nodes').waitFor();
    await other!.stop();
    await page.getByText('Degraded: nothing comes from node-2.').waitFor();
    push(agent!, '/2');
    await row('GET /2').waitFor();
    await other!.restart();
    await page.getByText('Degraded').waitFor({ state: 'detached' });
    push(other!, '/back');
    await row('GET /back').waitFor();
  });

  test('the page stays usable with thousands of spans a second, and each is received or counted as lost', async () => {
    await open('live');
    await page.getByText('live · 2 nodes').waitFor();
    let pushed = 0;
    const pump = setInterval(() => {
      for (const agent of stage.agents) for (let i = 0; i < 125; i++) push(agent, `/${pushed++}`);
    }, 50);
    const text = async (): Promise<string> => (await page.locator('.counts').textContent()) ?? '';
    const received = async (): Promise<number> =>
      Number(/([\d,]+) received/.exec(await text())?.[1]!.replaceAll(',', ''));
    try {
      await until('that many to come', async () => (await received()) > 5_000, { timeoutMs: 90_000 });
      expect(await rows().count()).toBeLessThanOrEqual(500);
      await rows().nth(3).getByRole('button').click();
      await details().waitFor();
      const held = await shown();
      await page.getByText(/held back, [\d,]+ older ones dropped here/).waitFor();
      expect(await shown()).toEqual(held);
      expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(8_000);
      await details().getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByText(/^live · /).waitFor();
    } finally {
      clearInterval(pump);
    }
    const lost = async (): Promise<number> => {
      const [summary] = await page.locator('.losses summary').allTextContents();
      return Number(/([\d,]+) lost/.exec(summary ?? '')?.[1]!.replaceAll(',', '') ?? 0);
    };
    await until('an account of all of them', async () => (await received()) + (await lost()) === pushed, {
      timeoutMs: 90_000,
    });
    expect(await rows().count()).toBe(500);
    expect(tab.complaints).toEqual([]);
  });

  test('a user without a token is asked for one, and a user without rights is told so', async () => {
    const locked = await startStreamStage(['node-1'], {
      pageDir,
      flags: { loopbackExempt: 'false' },
      reviews: {
        reviewToken: async (token) => ({ username: token }),
        mayAccessPath: async ({ username }) => username === 'ann',
      },
    });
    try {
      await open('live', { port: locked.server.port });
      const signIn = async (token: string): Promise<void> => {
        await page.getByLabel(/Bearer token/).fill(token);
        await page.getByRole('button', { name: 'Save' }).click();
      };
      await page.getByRole('button', { name: 'Sign in' }).click();
      await signIn('bob');
      await page.getByText('You may not see this').waitFor();
      await page.getByRole('button', { name: 'Another token?' }).click();
      await signIn('ann');
      await page.getByText('Nothing yet').waitFor();
      expect(tab.complaints.filter((text) => !/status of 40[13]/.test(text))).toEqual([]);
    } finally {
      await locked.close();
    }
  });

  test.each([
    [375, true],
    [1280, false],
    [2560, true],
  ])('at %p px, dark: %p: no accessibility rule is broken, with and without an open span', async (width, dark) => {
    const [agent, other] = stage.agents;
    push(agent!, '/fails', { statusCode: 503, status: 'error' });
    push(agent!, '/not-found', { statusCode: 404 });
    push(agent!, `/${'long'.repeat(60)}`);
    await other!.stop();
    await open('live', { width, dark });
    await row('GET /fails').waitFor();
    await page.getByText('Degraded').waitFor();
    const check = async (): Promise<void> => {
      expect(await tab.violations()).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    };
    await check();
    await row('GET /fails').click();
    await details().waitFor();
    await check();
    expect(tab.complaints).toEqual([]);
  });

  test('a service shows its newest spans, the failed and slow ones first', async () => {
    const [agent, other] = stage.agents;
    push(agent!, '/fast');
    push(other!, '/slow', { durationNs: 2e9 });
    push(agent!, '/fails', { statusCode: 500 });
    push(agent!, '/of-another', { workload: { kind: 'Deployment', name: 'cart' } });
    await open('service?ns=shop&name=gateway&kind=Deployment', { madeUp: true });
    await row('GET /slow').waitFor();
    expect(await shown()).toEqual(['GET /fails', 'GET /slow', 'GET /fast']);
    await row('GET /slow').click();
    await details().waitFor();
    expect(await tab.violations()).toEqual([]);
    await page.getByRole('link', { name: 'All of them, live' }).click();
    await page.getByText('· 3 received').waitFor();
    expect(new URL(page.url()).search).toBe('?ns=shop&workload=Deployment%2Fgateway');
    expect(tab.complaints).toEqual([]);
  });

  test('the newest spans stay while a span is open, and are requested again once it is closed', async () => {
    const [agent] = stage.agents;
    push(agent!, '/read');
    await open('service?ns=shop&name=gateway&kind=Deployment', { madeUp: true, clock: true });
    await row('GET /read').click();
    await details().waitFor();
    // Another window is another request: the details close with the rows.
    await page.getByLabel('Window').selectOption('15m');
    await details().waitFor({ state: 'detached' });
    await row('GET /read').waitFor();
    push(agent!, '/new');
    await page.clock.fastForward(31_000);
    await row('GET /new').waitFor();
    await row('GET /new').click();
    await details().waitFor();
    push(agent!, '/later');
    await page.clock.fastForward(31_000);
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await shown()).not.toContain('GET /later');
    await page.clock.fastForward(31_000);
    await row('GET /later').waitFor();
    expect(tab.complaints).toEqual([]);
  });

  test('a link from one service to another changes the title and moves the focus', async () => {
    push(stage.agents[0]!, '/asked', {
      kind: 'client',
      peer: { namespace: 'shop', name: 'cart-1', workload: { kind: 'Deployment', name: 'cart' } },
    });
    await open('service?ns=shop&name=gateway&kind=Deployment', { madeUp: true });
    await row('GET /asked').click();
    expect(await page.title()).toBe('gateway · svc');
    await details().getByRole('link', { name: 'Service shop/cart' }).click();
    await page.getByRole('heading', { name: 'shop/cart' }).waitFor();
    await until('the focus', () => page.getByRole('main').evaluate((element) => element.matches(':focus')));
    expect(await page.title()).toBe('cart · svc');
    await page.goBack();
    await until('the old title', () => page.title(), { good: (title) => title === 'gateway · svc' });
    expect(tab.complaints).toEqual([]);
  });

  test('a series of the query view leads to its spans', async () => {
    push(stage.agents[0]!, '/cart/7');
    push(stage.agents[0]!, '/other');
    await open('graph?g0.expr=up', { madeUp: true });
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('link', { name: /^spans of/ }).click();
    await row('GET /cart/7').waitFor();
    expect(await shown()).toEqual(['GET /cart/7']);
    expect(tab.complaints).toEqual([]);
  });
});
