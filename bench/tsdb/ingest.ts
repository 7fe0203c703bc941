import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findGoPrograms } from '../../e2e/cluster/go-programs.ts';
import { oneCoreWrapper } from '../promql/process-cost.ts';
import { agentFlags, peerPrograms } from './programs.ts';
import { median, progress, report, spread } from './report.ts';

interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/**
 * Hours of samples in scrape order into our store and into Prometheus', both as libraries in processes of their own, in
 * turns, bound to the same core. Series keep their references on both sides. Ours is durable after each scrape (one
 * fsync); Prometheus hands its log to the kernel and syncs when a segment is full, so its commit promises less.
 */
export async function benchIngest(dir: string, quick: boolean): Promise<void> {
  const [count, scrapes, runs] = quick ? [1_000, 240, 1] : [10_000, 960, 5];
  const { 'tsdb-ingest': theirs } = await findGoPrograms(peerPrograms, { log: progress, only: ['tsdb-ingest'] });
  const append = fileURLToPath(new URL('append.ts', import.meta.url));
  const wrapper = oneCoreWrapper();
  const run = async (program: readonly string[]): Promise<Cost> => {
    const data = join(dir, 'data');
    await rm(data, { recursive: true, force: true });
    const [command, ...args] = [...wrapper, ...program, data, String(count), String(scrapes)];
    const env = { ...process.env, GOMAXPROCS: '1' };
    return JSON.parse((await promisify(execFile)(command!, args, { env })).stdout) as Cost;
  };
  const costs: { ours: Cost; peer: Cost }[] = [];
  for (let i = 0; i < runs; i++) {
    progress(`ingest: ${count} series x ${scrapes} scrapes, run ${i + 1} of ${runs}`);
    costs.push({ ours: await run([process.execPath, ...agentFlags, append]), peer: await run([theirs]) });
  }
  await rm(dir, { recursive: true, force: true });
  const samples = count * scrapes;
  for (const [of, per] of [
    ['cpuSeconds', 'samples-per-cpu-second'],
    ['seconds', 'samples-per-second'],
  ] as const) {
    const rates = (side: 'ours' | 'peer'): number[] => costs.map((cost) => samples / cost[side][of]);
    report(`ingest/${count}-series/as-libraries/${per}`, 'samples/s', median(rates('ours')), {
      peer: median(rates('peer')),
      spread: spread(costs.map(({ ours, peer }) => peer[of] / ours[of])),
    });
  }
}
