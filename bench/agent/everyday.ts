import type { Stage } from '../run/bench.ts';
import { residentMiB } from '../run/process-figures.ts';
import { column, inTurns } from '../run/turns.ts';
import { pace } from './pace.ts';
import type { Receiver } from './process.ts';
import { seriesPerPod, timeline } from './workload.ts';

export interface EverydayWork {
  /** 12 pods are 5,280 series. */
  readonly pods: number;
  /**
   * The age of the process from which its share of a core is counted. From its start on it gets `perSecond` samples a
   * second.
   */
  readonly ageSeconds: number;
  readonly start: { readonly ours: () => Promise<Receiver>; readonly peer?: (() => Promise<Receiver>) | undefined };
  readonly cores: string;
}

const perSecond = 2_200;
/**
 * How long the share of a core is counted, as a fraction of `ageSeconds`. At an age of ten minutes it is two minutes,
 * long enough for all periodic work of the agent and of Prometheus.
 */
const countedPart = 0.2;

/** The share of a core that an agent and a Prometheus take on a node of everyday size, minutes after their start. */
export async function benchEveryday({ runs, say, reporter }: Stage, work: EverydayWork): Promise<void> {
  const { pods, ageSeconds, start, cores } = work;
  const series = pods * seriesPerPod;
  const measured = (name: string, begin: () => Promise<Receiver>) => async (run: number) => {
    say(`${name}: ${series} series at ${perSecond} samples/s for ${ageSeconds} s, run ${run + 1} of ${runs}`);
    return everyday(begin, work);
  };
  const turns = await inTurns(runs, {
    ours: measured('agent', start.ours),
    peer: start.peer && measured('prometheus', start.peer),
  });
  const report = reporter({ cores, caches: `new process, then ${ageSeconds} s at the pace` });
  const name = `agent/everyday/${series}-series/${perSecond}-samples-per-second`;
  const share = { unit: '% of a core', ...column(turns, (one) => one.share) };
  report({ name: `${name}/cpu`, ...share, goal: { of: 'ours', atMost: 2 } });
  report({ name: `${name}/cpu-beside-peer`, ...share, goal: { of: 'ratio', atMost: 1 } });
  report({ name: `${name}/rss`, unit: 'MiB', ...column(turns, (one) => one.resident) });
}

async function everyday(
  start: () => Promise<Receiver>,
  { pods, ageSeconds }: EverydayWork,
): Promise<{ share: number; resident: number }> {
  const receiver = await start();
  try {
    const interval = (pods * seriesPerPod) / perSecond;
    const sent = { pods, perSecond, time: timeline(Date.now(), 1_000 * interval) };
    const rounds = Math.ceil(ageSeconds / interval);
    await pace(receiver, { ...sent, seconds: rounds * interval, round: 0 });
    const share = await pace(receiver, { ...sent, seconds: rounds * interval * countedPart, round: rounds });
    return { share, resident: residentMiB(receiver.pid) };
  } finally {
    await receiver.stop();
  }
}
