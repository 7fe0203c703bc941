import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findGoPrograms } from '../../e2e/cluster/go-programs.ts';
import { decodeXorChunk, SampleBuffer, XorAppender } from '../../src/tsdb/chunk/index.ts';
import { benchStart, stepMs, valueOf } from './series.ts';
import { best, progress, report } from './report.ts';

const peer = {
  moduleDir: fileURLToPath(new URL('peer/', import.meta.url)),
  versionOf: 'github.com/prometheus/prometheus',
  folder: 'tsdb-peer',
  packages: { codec: '.' },
  flags: () => [],
  cold: '~10 s',
};

/** Encode and decode, series by series, beside Prometheus' codec in Go on the same values. */
export async function benchCodec(quick: boolean): Promise<void> {
  const chunks = quick ? 1_000 : 20_000;
  const { codec } = await findGoPrograms(peer, { log: progress });
  const run = await promisify(execFile)(codec, [String(chunks)], { env: { ...process.env, GOMAXPROCS: '1' } });
  const theirs = JSON.parse(run.stdout) as { encode: number; decode: number; bytesPerSample: number };

  const words = Array.from({ length: chunks }, (_, c) => {
    const values = Float64Array.from({ length: 120 }, (_, k) => valueOf(c, k));
    return new Uint32Array(values.buffer);
  });
  let encoded: Uint8Array[] = [];
  const appender = new XorAppender(2048);
  const encode = (): void => {
    encoded = [];
    for (let c = 0; c < chunks; c++) {
      appender.reset();
      for (let k = 0; k < 120; k++) appender.appendWords(benchStart + k * stepMs, words[c]!, 2 * k);
      encoded.push(appender.bytes());
    }
  };
  const samples = chunks * 120;
  const encodeRate = samples / (await best(7, encode));
  const out = new SampleBuffer(120);
  const decode = (): void => {
    for (const chunk of encoded) {
      out.length = 0;
      decodeXorChunk(chunk, out);
    }
  };
  const decodeRate = samples / (await best(7, decode));
  const bytes = encoded.reduce((n, b) => n + b.length, 0) / samples;
  report('chunk/encode/series-by-series', 'samples/s', encodeRate, {
    peer: theirs.encode,
    goal: { value: 0.9, of: 'ratio' },
  });
  report('chunk/decode', 'samples/s', decodeRate, { peer: theirs.decode, goal: { value: 1.2, of: 'ratio' } });
  report('chunk/bytes-per-sample', 'B', bytes, { peer: theirs.bytesPerSample });
}
