import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { findChromium } from './browser.ts';

/** How a tab is opened. */
export interface TabOptions {
  /** Unit: px. Default: 1280 by 900. */
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  /** Whether the user forces colours on all pages. */
  readonly forcedColors?: boolean;
  /** Pixels of the screen per px. Default: 1. */
  readonly scale?: number;
  /** Gets the tab's context before its first request, for example to answer in the server's place. */
  readonly before?: (context: BrowserContext) => Promise<unknown>;
}

/** A page with an empty history of its own. */
export interface Tab {
  readonly page: Page;
  /** Errors and warnings of the console, and requests to servers other than the page's own. */
  readonly complaints: readonly string[];
  /** What axe finds against WCAG 2.2 AA, as `rule: element`, and ids that two elements have. */
  violations(): Promise<string[]>;
  /** Whether the element with the focus is at the top where it is, with nothing over its middle. */
  isFocusSeen(): Promise<boolean>;
  /** The contrast of a colour, drawn with an opacity, on a background, as of WCAG. All are expressions in the page. */
  contrast(colour: string, opacity: string, background: string): Promise<number>;
  /** How many pixels are drawn, over all canvases that match. */
  drawn(selector: string): Promise<number>;
  close(): Promise<void>;
}

/** Starts a real Chromium. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium()!, args: ['--no-sandbox'] });
}

/** Opens an address. Every wait on the page times out after 15 seconds. */
export async function openTab(browser: Browser, url: string, options: TabOptions = {}): Promise<Tab> {
  const { width = 1280, height = 900, dark = false, forcedColors = false, scale = 1, before } = options;
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width, height },
    deviceScaleFactor: scale,
    forcedColors: forcedColors ? 'active' : 'none',
    colorScheme: dark ? 'dark' : 'light',
  });
  await before?.(context);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  const { host } = new URL(url);
  page.on('request', (request) => {
    if (new URL(request.url()).host !== host && !request.url().startsWith('data:')) {
      complaints.push(`asks elsewhere: ${request.url()}`);
    }
  });
  await page.goto(url);
  return {
    page,
    complaints,
    violations: () => violationsOf(page),
    isFocusSeen: () =>
      page.evaluate(`(() => {
        const focused = document.activeElement;
        const { left, top, width, height } = focused.getBoundingClientRect();
        const seen = document.elementFromPoint(left + width / 2, top + height / 2);
        return focused.contains(seen) || (seen?.contains(focused) ?? false);
      })()`),
    contrast: (colour, opacity, background) =>
      page.evaluate(`(() => {
        const pen = new OffscreenCanvas(1, 1).getContext('2d');
        const light = (colour, opacity) => {
          pen.globalAlpha = opacity;
          pen.fillStyle = colour;
          pen.fillRect(0, 0, 1, 1);
          const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((c) =>
            c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
        };
        const [below, above] = [light(${background}, 1), light(${colour}, ${opacity})];
        return Math.max(below, above) / Math.min(below, above);
      })()`),
    drawn: (selector) => page.locator(selector).evaluateAll(drawnPixels),
    close: () => context.close(),
  };
}

/** The members of a canvas that `drawnPixels`, which runs in the browser, uses. */
interface Canvas {
  readonly width: number;
  readonly height: number;
  getContext(kind: '2d'): { getImageData(x: number, y: number, w: number, h: number): { data: Uint8ClampedArray } };
}

function drawnPixels(canvases: unknown[]): number {
  let drawn = 0;
  for (const canvas of canvases as Canvas[]) {
    if (canvas.width === 0 || canvas.height === 0) continue;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 3; i < data.length; i += 4) if (data[i] !== 0) drawn++;
  }
  return drawn;
}

async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  const found: string[] =
    await page.evaluate(`axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] })
    .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map((n) => id + ': ' + n.html.slice(0, 160))))`);
  const ids: string[] = await page.evaluate(`[...document.querySelectorAll('[id]')].map(({ id }) => id)`);
  return [...found, ...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `two elements have the id ${id}`)];
}
