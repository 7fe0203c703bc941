/**
 * The page in a real Chromium without a window:
 *   npm run build && node bench/page.ts [--quick]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * First view: the services of 500 workloads, from a query server over 50 agents (stand-ins), with
 * an empty cache; from the begin of the navigation to the first frame that shows rows. Of the same with answers that
 * are there already, to see what is the page's own.
 * Size: what that view loads, gzipped.
 * Map: 500 nodes and 2,000 edges, panned with the mouse; frames as the browser makes them.
 * Source of the goals: issue 21. Without a graphics processor the browser draws on the same processors as all else.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { chromium, type Browser, type Page } from 'playwright-core';
import { findChromium } from '../e2e/page/browser.ts';
import { fixtureServices, fixtureTopology, large } from '../e2e/page/fixture.ts';
import { report } from './query/report.ts';
import { withAgents } from './query/stand-in-stage.ts';
import { cluster } from './query/topology-data.ts';

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const rounds = flags.quick ? 2 : 9;
const panMs = flags.quick ? 1_000 : 5_000;
const pageDir = fileURLToPath(new URL('../dist/ui', import.meta.url));
const executablePath = findChromium();
if (executablePath === undefined) throw new Error('no Chromium: install one, or name it in SVC_CHROMIUM');

const answer = (data: unknown) => ({ json: { status: 'success', data, degraded: false, missingNodes: [] } });
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!;

/** Runs in the page before it: when the frame with the first rows has been drawn, in ms since the navigation began. */
const noteRows = `globalThis.rowsDrawn = new Promise((drawn) => {
  new MutationObserver((_, observer) => {
    if (document.querySelectorAll('table tbody tr').length === 0) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => drawn(performance.now())));
  }).observe(document, { childList: true, subtree: true });
});`;

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

async function firstView(browser: Browser, port: number, made: boolean): Promise<void> {
  const drawn: number[] = [];
  let loaded: string[] = [];
  // The first round is the browser's own start, and the query server's.
  for (let i = 0; i <= rounds; i++) {
    await fresh(browser, made, async (page) => {
      await page.goto(`https://localhost:${port}/`);
      const ms = (await page.evaluate('globalThis.rowsDrawn')) as number;
      if (i > 0) drawn.push(ms);
      loaded = await page.evaluate(
        `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)`,
      );
    });
  }
  const goal = flags.quick ? null : 1_000;
  const name = `page/first-view/50-nodes-500-workloads${made ? '/answers-made-up' : ''}`;
  report(`${name}/p50`, 'ms', median(drawn), null, made ? null : goal);
  report(`${name}/slowest-of-${rounds}`, 'ms', Math.max(...drawn), null, null);
  if (!made) return;
  const files = ['/index.html', ...loaded.filter((path) => /\.(js|css)$/.test(path))];
  const sizes = await Promise.all(files.map(async (file) => gzipSync(await readFile(pageDir + file)).length));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  report('page/first-view/gzip', 'KiB', total / 1024, null, 350);
}

/** Pans the map there and back; the time between frames as the page sees them. */
async function panned(browser: Browser, port: number): Promise<void> {
  await fresh(browser, true, async (page) => {
    await page.goto(`https://localhost:${port}/map`);
    await page.getByText('2000 edges').waitFor({ timeout: 60_000 });
    const box = (await page.locator('.map canvas').first().boundingBox())!;
    // Between two nodes: a drag that begins on one would move it.
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
    const frames = ((await page.evaluate('globalThis.frames_')) as number[]).slice(1);
    await page.mouse.up();
    const mean = frames.reduce((sum, ms) => sum + ms, 0) / frames.length;
    const name = 'page/map/500-nodes-2000-edges/panned';
    // 30 frames a second.
    report(`${name}/frame`, 'ms', mean, null, flags.quick ? null : 1_000 / 30);
    report(`${name}/frame/p95`, 'ms', at(frames, 0.95), null, null);
    report(`${name}/frames-per-second`, 'frames/s', 1_000 / mean, null, null);
  });
}

const agents = flags.quick ? 5 : cluster.nodes;
await withAgents({ agents, pods: 1_000, pageDir, profile: '' }, async ({ server }) => {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const { port } = server.started;
    await firstView(browser, port, false);
    await firstView(browser, port, true);
    await panned(browser, port);
  } finally {
    await browser.close();
  }
});
