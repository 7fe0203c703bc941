import { readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startPeer } from '../../e2e/prometheus/server.ts';
import type { Stage } from '../run/bench.ts';
import { oneCore } from '../run/cores.ts';
import { column, inTurns } from '../run/turns.ts';
import { fillOurs, fillPrometheus } from './fill.ts';
import type { StoreWork } from './programs.ts';
import { makeSeries } from './series.ts';

/** One in this many series is written: indexes are small beside samples, so the number of series hardly matters. */
const seriesPerWeighing = 5;

/** Measures the bytes of the same samples on the disk, indexes included: in our blocks and in a Prometheus snapshot. */
export async function benchWeight({ runs, say, atEnd, reporter }: Stage, work: StoreWork): Promise<void> {
  const { dir, scrapes } = work;
  const labels = makeSeries(Math.ceil(work.series / seriesPerWeighing));
  const { wrapper, says } = oneCore();
  say(`weight: ${labels.length} series x ${scrapes} scrapes, ${runs} runs`);
  const samples = labels.length * scrapes;
  const fresh = async (): Promise<void> => rm(dir, { recursive: true, force: true });
  const turns = await inTurns(runs, {
    ours: async () => {
      await fresh();
      return fillOurs(join(dir, 'ours'), labels, scrapes);
    },
    peer: async () => {
      await fresh();
      const flags = ['--web.enable-admin-api'];
      const prometheus = await startPeer({ dir: join(dir, 'prometheus'), flags, oneCore: true, wrapper });
      atEnd(() => prometheus.stop());
      await fillPrometheus(prometheus.url, labels, scrapes);
      const bytes = await snapshotBytes(prometheus.url, join(dir, 'prometheus/data'));
      await prometheus.stop();
      return bytes;
    },
  });
  reporter({ cores: says('Prometheus'), caches: 'of no account: bytes are counted' })({
    name: `disk/${labels.length}-series/${scrapes}-samples/bytes-per-sample-with-index`,
    unit: 'B',
    ...column(turns, (bytes) => bytes / samples),
    goal: { of: 'ours', atMost: 2.7 },
  });
}

/** The size of a Prometheus' snapshot, which has all its samples in blocks, with their indexes. */
async function snapshotBytes(url: string, data: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/admin/tsdb/snapshot`, { method: 'POST' });
  const { data: answer } = (await response.json()) as { data: { name: string } };
  return treeBytes(join(data, 'snapshots', answer.name));
}

function treeBytes(path: string): number {
  const facts = statSync(path);
  return facts.isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + treeBytes(join(path, name)), 0)
    : facts.size;
}
