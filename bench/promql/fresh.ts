import type { Stage } from '../run/bench.ts';
import { dropFromCache } from '../run/page-cache.ts';
import { peakMiB, residentMiB } from '../run/process-figures.ts';
import { geometricMean } from '../run/spread.ts';
import { column, inTurns } from '../run/turns.ts';
import { ask } from './ask.ts';
import type { Side, Sides } from './sides.ts';

interface Fresh {
  readonly idleMiB: number;
  readonly peakMiB: number;
  /** Milliseconds of the first answer to each query, by its name. */
  readonly answers: ReadonlyMap<string, number>;
}

export interface FreshOptions {
  readonly sides: Sides;
  /** Holds the peer's files and ours. */
  readonly folder: string;
  readonly chosen: readonly (readonly [name: string, query: string])[];
  readonly cores: string;
}

/**
 * Measures the first answer of a new process to each query, over files that the kernel has to read from the disk, and
 * the memory of the process before and after all queries. Each run begins with another query, because the first query
 * pays for what all queries need.
 */
export async function fresh({ runs, say, reporter }: Stage, options: FreshOptions): Promise<void> {
  const { sides, folder, chosen, cores } = options;
  const measured = (start: () => Promise<Side>) => async (run: number) => {
    const first = (run * 5) % chosen.length;
    dropFromCache(folder);
    const side = await start();
    try {
      const idle = residentMiB(side.pid);
      const answers = new Map<string, number>();
      for (const [name, query] of [...chosen.slice(first), ...chosen.slice(0, first)]) {
        answers.set(name, (await ask(side.url, name, query)).http);
      }
      return { idleMiB: idle, peakMiB: peakMiB(side.pid), answers } satisfies Fresh;
    } finally {
      await side.stop();
    }
  };
  say(`first answers: ${chosen.length} queries, ${runs} runs`);
  const turns = await inTurns<Fresh>(runs, { ours: measured(sides.ours), peer: measured(sides.peer) });
  const report = reporter({ cores, caches: 'cold: processes just started, files not in the page cache' });
  for (const [name] of chosen) {
    report({ name: `${name}/http/first`, unit: 'ms', ...column(turns, ({ answers }) => answers.get(name)!) });
  }
  const ratios = turns.ours.map(({ answers }, run) =>
    geometricMean(chosen.map(([name]) => answers.get(name)! / turns.peer[run]!.answers.get(name)!)),
  );
  report({ name: 'all/http/first/geometric-mean-of-ratios', unit: 'ratio', ours: ratios, peer: ratios.map(() => 1) });
  report({ name: 'memory/before-the-first-query', unit: 'MiB', ...column(turns, ({ idleMiB }) => idleMiB) });
  report({ name: 'memory/peak-of-the-first-answers', unit: 'MiB', ...column(turns, (one) => one.peakMiB) });
}
