import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchCodec } from './tsdb/codec.ts';
import { benchDisk } from './tsdb/disk.ts';
import { benchIngest } from './tsdb/ingest.ts';
import { benchHead } from './tsdb/head.ts';

/**
 * The store's figures beside their peers, one JSON object a line: Prometheus' chunk codec and storage as Go libraries,
 * and Prometheus itself fed by remote write. `--quick` cuts the sizes, to prove that the bench itself runs; `--only codec|head|ingest|disk`.
 */
const quick = process.argv.includes('--quick');
const only = process.argv[process.argv.indexOf('--only') + 1];
const wanted = (part: string): boolean => !process.argv.includes('--only') || only === part;

const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'));
try {
  if (wanted('codec')) await benchCodec(quick);
  if (wanted('head')) await benchHead(join(dir, 'head'), quick);
  if (wanted('ingest')) await benchIngest(join(dir, 'ingest'), quick);
  if (wanted('disk')) await benchDisk(join(dir, 'disk'), quick);
} finally {
  await rm(dir, { recursive: true, force: true });
}
