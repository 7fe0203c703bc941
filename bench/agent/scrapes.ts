import { get } from 'node:http';
import type { Stage } from '../run/bench.ts';
import { median } from '../run/spread.ts';
import { postOne } from './post.ts';
import type { Receiver } from './process.ts';

/** Median time and mean CPU time of a run's scrapes in ms, by format and encoding; the slowest post while they ran. */
export interface Scrapes {
  readonly pages: Readonly<Record<string, { readonly ms: number; readonly cpuMs: number }>>;
  readonly slowestPostMs: number;
}

const formats = {
  text: 'text/plain',
  openmetrics: 'application/openmetrics-text;version=1.0.0',
};
/** The pause between two posts, each for one pod. Units: ms. */
const postEveryMs = 100;

/** Scrapes the page of all series repeatedly, while applications post their metrics, interval after interval. */
export async function scrapes(
  receiver: Receiver,
  url: string,
  count: number,
  bodies: (interval: number) => readonly Uint8Array[],
): Promise<Scrapes> {
  const posts: number[] = [];
  const ended = new AbortController();
  const posting = (async () => {
    for (let interval = 0; ; interval++) {
      for (const body of bodies(interval)) {
        if (ended.signal.aborted) return;
        const from = performance.now();
        await postOne(receiver, body);
        posts.push(performance.now() - from);
        await new Promise((resolve) => setTimeout(resolve, postEveryMs));
      }
    }
  })();
  const pages: Record<string, { ms: number; cpuMs: number }> = {};
  for (const [format, accept] of Object.entries(formats)) {
    for (const encoding of ['identity', 'gzip']) {
      const times: number[] = [];
      const before = receiver.cpuMs();
      for (let i = 0; i < count; i++) times.push(await scrapeOnce(url, accept, encoding));
      pages[`${format}/${encoding}`] = { ms: median(times), cpuMs: (receiver.cpuMs() - before) / count };
    }
  }
  ended.abort();
  await posting;
  return { pages, slowestPostMs: Math.max(...posts) };
}

/** Milliseconds until the last byte of the page is there. The page is not decompressed: that is the scraper's work. */
function scrapeOnce(url: string, accept: string, encoding: string): Promise<number> {
  const from = performance.now();
  return new Promise((resolve, reject) => {
    const req = get(url, { headers: { accept, 'accept-encoding': encoding } }, (res) => {
      if (res.statusCode !== 200) reject(new Error(`${url} answered ${res.statusCode}`));
      res.resume();
      res.on('end', () => resolve(performance.now() - from));
      res.on('error', reject);
    });
    req.on('error', reject);
  });
}

export function reportScrapes(report: ReturnType<Stage['reporter']>, name: string, all: readonly Scrapes[]): void {
  for (const page of Object.keys(all[0]?.pages ?? {})) {
    const runs = all.map(({ pages }) => pages[page]!);
    const goal = { of: 'ours', atMost: 100 } as const;
    report({ name: `${name}/${page}/time`, unit: 'ms', ours: runs.map(({ ms }) => ms), goal });
    report({ name: `${name}/${page}/cpu`, unit: 'ms', ours: runs.map(({ cpuMs }) => cpuMs) });
  }
  report({ name: `${name}/slowest-post-meanwhile`, unit: 'ms', ours: all.map((one) => one.slowestPostMs) });
}
