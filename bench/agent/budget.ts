import type { Stage } from '../run/bench.ts';
import type { Goal } from '../run/figure.ts';
import { peakMiB, residentMiB } from '../run/process-figures.ts';
import { pace } from './pace.ts';
import { postAll } from './post.ts';
import type { Receiver } from './process.ts';
import { httpBodies, seriesPerPod, timeline } from './workload.ts';

export interface BudgetWork {
  /** 114 pods are 50,000 series. */
  readonly pods: number;
  /**
   * How many intervals of history are posted before the measurement, as fast as the agent takes them: an hour at most,
   * since the agent refuses older samples.
   */
  readonly historyRounds: number;
  readonly paceSeconds: number;
  readonly start: () => Promise<Receiver>;
  readonly cores: string;
}

/** One sample of each of 50,000 series in this time makes 2,200 samples a second. */
const stepMs = 23_000;
const [full, small] = [2_200, 1_000];
/** 10,000 series. */
const smallPods = 23;

/** Measures an agent's share of a core on a small node, and its share and memory on a full node with history. */
export async function benchBudget({ runs, say, reporter }: Stage, work: BudgetWork): Promise<void> {
  const { pods, historyRounds, cores } = work;
  const fullNodes: { history: number; resident: number; peak: number; share: number }[] = [];
  const smallShares: number[] = [];
  for (let run = 0; run < runs; run++) {
    say(`agent: ${pods * seriesPerPod} series at ${full} samples/s, run ${run + 1} of ${runs}`);
    fullNodes.push(
      await withAgent(work, async (agent) => {
        const time = timeline(Date.now() - historyRounds * stepMs - 120_000, stepMs);
        for (let round = 0; round < historyRounds; round++) await postAll(agent, httpBodies(pods, time, round));
        const history = residentMiB(agent.pid);
        const share = await pace(agent, {
          pods,
          perSecond: full,
          seconds: work.paceSeconds,
          time,
          round: historyRounds,
        });
        return { history, share, resident: residentMiB(agent.pid), peak: peakMiB(agent.pid) };
      }),
    );
    smallShares.push(
      await withAgent(work, async (agent) => {
        const time = timeline(Date.now() - 120_000);
        await postAll(agent, httpBodies(smallPods, time, 0));
        return pace(agent, { pods: smallPods, perSecond: small, seconds: work.paceSeconds, time, round: 1 });
      }),
    );
  }
  const minutes = Math.round((historyRounds * stepMs) / 60_000);
  const report = reporter({ cores, caches: `new process, then ${minutes} minutes of history` });
  const name = `agent/${pods * seriesPerPod}-series`;
  const emit = (figure: string, unit: string, of: keyof (typeof fullNodes)[number], goal?: Goal): void =>
    report({ name: `${name}/${figure}`, unit, ours: fullNodes.map((one) => one[of]), goal });
  emit('history/rss', 'MiB', 'history');
  emit(`${full}-samples-per-second/rss`, 'MiB', 'resident', { of: 'ours', atMost: 160 });
  emit(`${full}-samples-per-second/peak-rss`, 'MiB', 'peak');
  emit(`${full}-samples-per-second/cpu`, '% of a core', 'share');
  reporter({ cores, caches: 'new process, then one interval' })({
    name: `agent/${smallPods * seriesPerPod}-series/${small}-samples-per-second/cpu`,
    unit: '% of a core',
    ours: smallShares,
    goal: { of: 'ours', atMost: 5 },
  });
}

async function withAgent<T>({ start }: BudgetWork, use: (agent: Receiver) => Promise<T>): Promise<T> {
  const agent = await start();
  try {
    return await use(agent);
  } finally {
    await agent.stop();
  }
}
