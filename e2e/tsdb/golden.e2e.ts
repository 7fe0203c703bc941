import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { goldenChunks, goldenStore } from '../../src/testing/tsdb/golden-input.ts';
import { goldenFromPrometheus } from './golden-from-prometheus.ts';

const file = new URL('../../src/tsdb/testdata/prometheus-chunks.json', import.meta.url);

test('a real Prometheus cuts and encodes samples into the same chunks as our store, byte for byte', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-golden-'));
  try {
    const theirs = await goldenFromPrometheus(join(dir, 'prometheus'));
    if (process.env['SVC_UPDATE_GOLDEN']) await writeFile(file, `${JSON.stringify(theirs)}\n`);
    const store = await goldenStore();
    expect(goldenChunks(store)).toEqual(theirs);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(theirs);
    await store.close();
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}, 120_000);
