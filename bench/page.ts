import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium, type Browser, type Page } from 'playwright-core';
import { findChromium } from '../e2e/page/browser.ts';
import { fixtureServices, fixtureTopology, large } from '../e2e/page/fixture.ts';
import { withStandIns } from './query/stand-in-stage.ts';
import { cluster } from './query/topology-data.ts';
import { bench, type Stage } from './run/bench.ts';
import { buildPrograms } from './run/build.ts';
import type { Goal } from './run/figure.ts';
import { WrongFlag } from './run/flags.ts';

const pageDir = fileURLToPath(new URL('../dist/ui', import.meta.url));
/** Source of the goals: issue 21. */
const goals = { firstViewMs: 1_000, gzipKiB: 350, framesPerSecond: 30 } as const;

const answer = (data: unknown) => ({ json: { status: 'success', data, degraded: false, missingNodes: [] } });
/**
 * Runs before the page's scripts. When the first rows are drawn, `rowsDrawn` resolves to the time since the navigation
 * began. Units: ms.
 */
const noteRows = `globalThis.rowsDrawn = new Promise((drawn) => {
  new MutationObserver((_, observer) => {
    if (document.querySelectorAll('table tbody tr').length === 0) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => drawn(performance.now())));
  }).observe(document, { childList: true, subtree: true });
});`;

await bench(
  {
    name: 'bench:page',
    measures:
      'The page, built first, in a real Chromium without a window. First view: the services of 500 workloads from a query\n' +
      'server over 50 stand-in agents, with an empty cache, from the start of the navigation to the first frame that shows\n' +
      "rows; and the same with made-up answers at hand, which leaves the page's own share. Size: what that view loads,\n" +
      'gzipped. Map: 500 nodes and 2,000 edges, panned with the mouse. No peer. Without a graphics processor the browser\n' +
      'draws on the same processors as all else.',
    options: {
      only: { kind: 'text', help: 'first-view or map' },
      agents: { kind: 'number', value: cluster.nodes, quick: 5, help: 'agents' },
      'pan-ms': { kind: 'number', value: 5_000, quick: 1_000, help: 'how long a run pans the map' },
    },
  },
  async (stage) => {
    if (!['', 'first-view', 'map'].includes(stage.flags.only)) {
      throw new WrongFlag(`--only is ${stage.flags.only}, not first-view or map`);
    }
    const executablePath = findChromium();
    if (executablePath === undefined) throw new Error('no Chromium: install one, or name it in SVC_CHROMIUM');
    stage.say('building the page');
    await buildPrograms();
    const { agents, only } = stage.flags;
    await withStandIns(stage, { agents, pods: 1_000, pageDir, profile: '' }, async ({ server, cores }) => {
      const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
      stage.atEnd(() => browser.close());
      const { port } = server.started;
      if (only !== 'map') {
        await firstView(stage, browser, { port, cores, made: false });
        await firstView(stage, browser, { port, cores, made: true });
      }
      if (only === 'first-view') return;
      await panned(stage, browser, { port, cores, panMs: stage.flags['pan-ms'] });
    });
  },
);

interface Viewed {
  readonly port: number;
  readonly cores: string;
}

/** A page in a browser profile of its own, with nothing in its cache. */
async function fresh<T>(browser: Browser, made: boolean, use: (page: Page) => Promise<T>): Promise<T> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 } });
  if (made) {
    const [services, topology] = [answer(fixtureServices(large)), answer(fixtureTopology(large))];
    await context.route(/\/api\/v1\/services/, (route) => route.fulfill(services));
    await context.route(/\/api\/v1\/topology/, (route) => route.fulfill(topology));
  }
  await context.addInitScript({ content: noteRows });
  const page = await context.newPage();
  try {
    return await use(page);
  } finally {
    await context.close();
  }
}

async function firstView(
  { runs, quick, say, reporter }: Stage,
  browser: Browser,
  { port, cores, made }: Viewed & { made: boolean },
): Promise<void> {
  say(`first view${made ? ', answers made up' : ''}`);
  const [drawn, spent]: [number[], number[]] = [[], []];
  let loaded: string[] = [];
  // The first round warms up the browser and the query server; it is not counted.
  for (let i = 0; i <= runs; i++) {
    await fresh(browser, made, async (page) => {
      const threadMs = await threadTime(page);
      await page.goto(`https://localhost:${port}/`);
      const ms = (await page.evaluate('globalThis.rowsDrawn')) as number;
      const cpuMs = await threadMs();
      loaded = await page.evaluate(
        `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)`,
      );
      if (i === 0) return;
      drawn.push(ms);
      spent.push(cpuMs);
    });
  }
  const report = reporter({ cores, caches: 'of the browser: empty; of the query server: warm' });
  const name = `page/first-view/50-nodes-500-workloads${made ? '/answers-made-up' : ''}`;
  const goal: Goal | undefined = made || quick ? undefined : { of: 'ours', atMost: goals.firstViewMs };
  report({ name, unit: 'ms', ours: drawn, goal });
  if (!made) return;
  report({ name: `${name}/page-cpu`, unit: 'ms', ours: spent });
  const files = ['/index.html', ...loaded.filter((path) => /\.(js|css)$/.test(path))];
  const sizes = await Promise.all(files.map(async (file) => gzipSync(await readFile(pageDir + file)).length));
  const total = sizes.reduce((sum, size) => sum + size, 0) / 1024;
  const size = { of: 'ours', atMost: goals.gzipKiB } as const;
  report({ name: 'page/first-view/gzip', unit: 'KiB', ours: Array<number>(runs).fill(total), goal: size });
}

/** Returns a function that reads the CPU time that the page's main thread spent in tasks since this call. Units: ms. */
async function threadTime(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1_000 * metrics.find(({ name }) => name === 'TaskDuration')!.value;
  };
}

/** Pans the map there and back, and measures the time between frames as the page sees them. */
async function panned(
  { runs, quick, say, reporter }: Stage,
  browser: Browser,
  { port, cores, panMs }: Viewed & { panMs: number },
): Promise<void> {
  say('map');
  const [means, late]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    await fresh(browser, true, async (page) => {
      const frames = await framesOf(page, port, panMs);
      means.push(frames.reduce((sum, ms) => sum + ms, 0) / frames.length);
      late.push(frames.toSorted((a, b) => a - b)[Math.min(frames.length - 1, Math.floor(frames.length * 0.95))]!);
    });
  }
  const report = reporter({ cores, caches: 'of the browser: empty' });
  const name = 'page/map/500-nodes-2000-edges/panned';
  const goal = quick ? undefined : ({ of: 'ours', atLeast: goals.framesPerSecond } as const);
  report({ name: `${name}/frames-per-second`, unit: '1/s', ours: means.map((ms) => 1_000 / ms), goal });
  report({ name: `${name}/frame`, unit: 'ms', ours: means });
  report({ name: `${name}/frame/p95`, unit: 'ms', ours: late });
}

/** Times between frames while the mouse pans the map. Units: ms. */
async function framesOf(page: Page, port: number, panMs: number): Promise<number[]> {
  await page.goto(`https://localhost:${port}/map`);
  await page.getByText('2000 edges').waitFor({ timeout: 60_000 });
  const box = (await page.locator('.map canvas').first().boundingBox())!;
  // Between two nodes: a drag that begins on a node would move the node.
  const from = { x: box.x + box.width / 2, y: box.y + 4 };
  await page.evaluate(`globalThis.frames_ = []; (function note(before) {
    requestAnimationFrame((now) => { globalThis.frames_.push(now - before); note(now); });
  })(performance.now())`);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.evaluate('globalThis.frames_.length = 0');
  const end = performance.now() + panMs;
  for (let i = 0; performance.now() < end; i++) {
    const turn = i / 12;
    await page.mouse.move(from.x + 200 * Math.sin(turn), from.y + 150 + 150 * Math.cos(turn));
  }
  const frames = (await page.evaluate('globalThis.frames_')) as number[];
  await page.mouse.up();
  return frames.slice(1);
}
