import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCacheDir } from '../../src/testing/cache-dir.ts';
import { remoteWriteColumns } from '../../e2e/prometheus/remote-write.ts';
import { startPeer } from '../../e2e/prometheus/server.ts';
import { writeChunkFile } from './chunk-file.ts';
import { interval, start, type BenchSeries } from './data.ts';

/** Where generated data is kept from run to run. */
export function dataFolder(): string {
  return join(defaultCacheDir(), 'bench-promql');
}

/** Writes the file of chunks from which our side answers, unless it exists. Returns its path. */
export function ownData(all: readonly BenchSeries[], nodes: number): string {
  const path = join(dataFolder(), `v2-${nodes}-nodes.chunks`);
  writeChunkFile(path, all);
  return path;
}

/**
 * A data folder for the peer (a real Prometheus) with the generated series in one block, kept under `name`. To make it,
 * the series are written to a Prometheus whose head block is as wide as the data; a snapshot of it becomes the folder.
 */
export async function peerData(
  all: readonly BenchSeries[],
  name: string,
  say: (text: string) => void,
): Promise<string> {
  const root = dataFolder();
  const kept = join(root, name);
  if (existsSync(kept)) return kept;
  const head = join(root, `head-${process.pid}`);
  mkdirSync(head, { recursive: true });
  say(`writing ${all.length} series to the peer, once`);
  const flags = [
    '--web.enable-admin-api',
    '--storage.tsdb.min-block-duration=48h',
    '--storage.tsdb.max-block-duration=48h',
  ];
  const peer = await startPeer({ dataDir: head, flags });
  try {
    await remoteWriteColumns(peer.url, all, (i) => start + i * interval);
    const answer = await fetch(`${peer.url}/api/v1/admin/tsdb/snapshot`, { method: 'POST' });
    if (!answer.ok) throw new Error(`snapshot: ${answer.status} ${await answer.text()}`);
  } finally {
    await peer.stop();
  }
  const [snapshot] = readdirSync(join(head, 'snapshots'));
  renameSync(join(head, 'snapshots', snapshot!), kept);
  rmSync(head, { recursive: true });
  return kept;
}
