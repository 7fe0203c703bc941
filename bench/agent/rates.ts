import type { Stage } from '../run/bench.ts';
import type { Goal } from '../run/figure.ts';
import { residentMiB } from '../run/process-figures.ts';
import { column, inTurns } from '../run/turns.ts';
import { postAll } from './post.ts';
import { expectSeries, type Receiver } from './process.ts';
import { reportScrapes, scrapes, type Scrapes } from './scrapes.ts';
import { httpBodies, intervalMs, seriesPerPod, timeline } from './workload.ts';

export interface RatesWork {
  readonly pods: number;
  readonly rounds: number;
  /** After so many intervals, the first included, the process no longer counts as young. */
  readonly youngRounds: number;
  readonly start: { readonly ours: () => Promise<Receiver>; readonly peer?: (() => Promise<Receiver>) | undefined };
  readonly cores: string;
}

/** Samples per second of the receiver's CPU time, and the memory that it holds after the intervals of `steady`. */
interface Rates {
  readonly fresh: number;
  readonly young: number;
  readonly steady: number;
  /** Samples per second of CPU time in the last interval, which creates as many series again. */
  readonly later: number;
  readonly residentMiB: number;
  /** Null for Prometheus, whose page is not scraped. */
  readonly scrapes: Scrapes | null;
}

/**
 * Sends the same HTTP posts to an agent and to a Prometheus, each a new process in each run. Measures three periods:
 * the interval that creates the series, the intervals of a young process, and the later intervals. Then scrapes the
 * agent's page, and at last creates as many series again, in a process whose code is compiled by then.
 */
export async function benchRates({ runs, say, quick, reporter }: Stage, work: RatesWork): Promise<void> {
  const { pods, rounds, start, cores } = work;
  const series = pods * seriesPerPod;
  const measured = (name: string, begin: () => Promise<Receiver>) => async (run: number) => {
    say(`${name}: ${series} series, ${rounds} intervals, run ${run + 1} of ${runs}`);
    return rates(begin, work, quick ? 3 : 7);
  };
  const turns = await inTurns(runs, {
    ours: measured('agent', start.ours),
    peer: start.peer && measured('prometheus', start.peer),
  });
  const caches = 'new process and empty folder in each run; files through the page cache';
  const report = reporter({ cores, caches });
  const name = `agent/${series}-series`;
  const emit = (figure: string, of: (one: Rates) => number, goal?: Goal): void =>
    report({ name: `${name}/${figure}/samples-per-cpu-second`, unit: '1/s', ...column(turns, of), goal });
  emit('otlp-to-durable', (one) => one.steady, { of: 'ratio', atLeast: 2 });
  emit('young-process', (one) => one.young);
  emit('new-series', (one) => one.fresh, { of: 'ratio', atLeast: 1 });
  emit('new-series-later', (one) => one.later);
  report({ name: `${name}/otlp-to-durable/rss`, unit: 'MiB', ...column(turns, (one) => one.residentMiB) });
  reportScrapes(
    reporter({ cores, caches: 'warm: the agent has taken all intervals, and an interval comes in meanwhile' }),
    `scrape/${series}-series`,
    turns.ours.map((one) => one.scrapes!),
  );
}

async function rates(start: () => Promise<Receiver>, work: RatesWork, scrapeCount: number): Promise<Rates> {
  const { pods, rounds, youngRounds } = work;
  const time = timeline(Date.now() - rounds * intervalMs);
  const bodies = Array.from({ length: rounds }, (_, i) => httpBodies(pods, time, i));
  const receiver = await start();
  const perCpuSecond = async (intervals: readonly (readonly Uint8Array[])[]): Promise<number> => {
    const before = receiver.cpuMs();
    for (const interval of intervals) await postAll(receiver, interval);
    return (1000 * intervals.length * pods * seriesPerPod) / (receiver.cpuMs() - before);
  };
  try {
    const fresh = await perCpuSecond(bodies.slice(0, 1));
    const young = await perCpuSecond(bodies.slice(1, youngRounds));
    const steady = await perCpuSecond(bodies.slice(youngRounds));
    const resident = residentMiB(receiver.pid);
    await expectSeries(receiver, pods * seriesPerPod);
    const own =
      receiver.scrapeUrl === null
        ? null
        : await scrapes(receiver, receiver.scrapeUrl, scrapeCount, (i) => httpBodies(pods, time, rounds + i));
    const later = await perCpuSecond([httpBodies(2 * pods, time, rounds - 1).slice(pods)]);
    await expectSeries(receiver, 2 * pods * seriesPerPod);
    return { fresh, young, steady, later, residentMiB: resident, scrapes: own };
  } finally {
    await receiver.stop();
  }
}
