import { rm } from 'node:fs/promises';
import { agentEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';
import { oneCore } from '../run/cores.ts';
import { outcomeOf } from '../run/program.ts';
import { column, inTurns } from '../run/turns.ts';
import { ownProgram, peerProgram, type StoreWork } from './programs.ts';

interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/**
 * Appends samples in scrape order to our store and to Prometheus', both as libraries in processes of their own. Series
 * keep their references on both sides, each scrape is one commit, and blocks are cut when they are due. Our store syncs
 * each commit to the disk. Prometheus' store is measured twice: as it is (it hands its log to the kernel, and syncs it
 * when a segment is full), and with a sync of its log after each commit, which gives the same guarantee as ours.
 */
export async function benchIngest({ runs, say, atEnd, reporter }: Stage, work: StoreWork): Promise<void> {
  const { dir, series, scrapes } = work;
  const { wrapper, says } = oneCore();
  const theirs = await peerProgram('tsdb-ingest', { say });
  const run = async (
    program: readonly string[],
    more: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<Cost> => {
    await rm(dir, { recursive: true, force: true });
    return outcomeOf([...wrapper, ...program, dir, String(series), String(scrapes), ...more], { atEnd, env });
  };
  const report = reporter({
    cores: says('store program'),
    caches: 'new process and empty folder; files written through the page cache',
  });
  const samples = series * scrapes;
  for (const [promise, sync] of [
    ['both-sync-each-scrape', ['sync']],
    ['prometheus-as-it-is', []],
  ] as const) {
    say(`ingest, ${promise}: ${series} series x ${scrapes} scrapes, ${runs} runs`);
    const turns = await inTurns(runs, {
      ours: () => run(ownProgram('append.ts'), [], agentEnvironment),
      peer: () => run([theirs], sync, { GOMAXPROCS: '1' }),
    });
    const name = `ingest/${series}-series/as-libraries/${promise}`;
    const rate = (per: string, of: keyof Cost): void =>
      report({ name: `${name}/${per}`, unit: 'samples/s', ...column(turns, (cost) => samples / cost[of]) });
    rate('samples-per-cpu-second', 'cpuSeconds');
    rate('samples-per-second', 'seconds');
  }
}
