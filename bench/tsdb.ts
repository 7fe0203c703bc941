import { join } from 'node:path';
import { bench } from './run/bench.ts';
import { WrongFlag } from './run/flags.ts';
import { benchCodec } from './tsdb/codec.ts';
import { benchHead } from './tsdb/head.ts';
import { benchIngest } from './tsdb/ingest.ts';
import { benchRemoteRead } from './tsdb/remote-read.ts';
import { benchWeight } from './tsdb/weight.ts';

const parts = {
  codec: benchCodec,
  head: benchHead,
  ingest: benchIngest,
  'remote-read': benchRemoteRead,
  weight: benchWeight,
};

await bench(
  {
    name: 'bench:tsdb',
    measures:
      `Our store beside the chunk codec and the storage of Prometheus as Go libraries, and beside Prometheus itself, fed by\n` +
      `remote write. bench:agent measures OTLP posts to both. Parts: ${Object.keys(parts).join(', ')}.`,
    options: {
      only: { kind: 'text', help: 'one of the parts' },
      series: { kind: 'number', value: 10_000, quick: 1_000, help: 'series of ingest, remote read and head' },
      scrapes: { kind: 'number', value: 480, quick: 120, help: 'samples of each series, 30 s apart' },
    },
  },
  async (stage) => {
    const { only, series, scrapes } = stage.flags;
    if (only !== '' && !(only in parts))
      throw new WrongFlag(`--only is ${only}, not one of ${Object.keys(parts).join(', ')}`);
    const dir = stage.folder();
    for (const [name, measure] of Object.entries(parts)) {
      if (only === '' || only === name) await measure(stage, { dir: join(dir, name), series, scrapes });
    }
  },
);
