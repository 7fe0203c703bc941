import { request } from 'node:http';
import { shareOfLongSlices, type LoopReport } from '../../loop-watch.ts';
import { startAdversarialStage, type AdversarialStage, type StageProcess } from './stage.ts';

/** The longest time that a process may compute before other work gets a turn. Units: ms of CPU time. */
export const longestCpuMs = 100;

/** A query server and agents as processes whose event loops are watched from their start to their end. */
export interface WatchedStage extends AdversarialStage {
  /** Measurements of each event loop since its last report. */
  reports(): Promise<{ query: LoopReport; agents: LoopReport[] }>;
  /**
   * For each process, the share of its CPU time so far that passed in slices (work without a turn for other work) of at
   * least half of `longestCpuMs`.
   */
  longShares(): number[];
  /** The first value of a metric of the query server; NaN if its metrics page lacks it. */
  metric(name: string): Promise<number>;
}

/** Starts the processes, and warms them up. */
export async function startWatchedStage(): Promise<WatchedStage> {
  const stage = await startAdversarialStage({ pods: 500, samples: 40 });
  /** The `slices` of all reports, by process. */
  const slicesOf = new Map<StageProcess, (readonly number[])[]>();
  const reportOf = async (process: StageProcess): Promise<LoopReport> => {
    const report = await process.report();
    const all = slicesOf.get(process) ?? [];
    all.push(report.slices);
    slicesOf.set(process, all);
    return report;
  };
  const reports: WatchedStage['reports'] = async () => ({
    query: await reportOf(stage.query),
    agents: await Promise.all(stage.agents.map(reportOf)),
  });
  for (let i = 0; i < 3; i++) {
    const { json } = await stage.ask({ name: 'a first one', query: 'sum(load)' }, 10);
    if (json.missingNodes?.length !== 0) throw new Error(`no answer from ${String(json.missingNodes)}`);
  }
  await reports();
  slicesOf.clear();
  return {
    ...stage,
    reports,
    longShares: () => [...slicesOf.values()].map((slices) => shareOfLongSlices(slices, longestCpuMs / 2)),
    metric: async (name) => {
      const page = await get(stage.query.ports['health']!, '/metrics');
      return Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)`, 'm').exec(page)?.[1]);
    },
  };
}

function get(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (part: string) => (text += part));
      res.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
}
