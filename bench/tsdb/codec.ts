import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findGoPrograms } from '../../e2e/cluster/go-programs.ts';
import { decodeXorChunk, encodeChunks, highWord, lowWord, SampleBuffer } from '../../src/tsdb/chunk/index.ts';
import { HeadSeries } from '../../src/tsdb/head/head-series.ts';
import { oneCoreWrapper } from '../promql/process-cost.ts';
import { peerPrograms } from './programs.ts';
import { benchStart, stepMs, valueOf } from './series.ts';
import { best, progress, report } from './report.ts';

const perChunk = 120;
/** Of which the best counts, as in peer/main.go. */
const runs = 5;

/**
 * Encode and decode beside Prometheus' codec in Go on the same values: a chunk at a time, as late samples, cuts and
 * deletes encode; and in the order of scrapes into ten thousand open chunks, ours with all that the head does for a
 * sample, theirs with nothing but the chunks.
 */
export async function benchCodec(quick: boolean): Promise<void> {
  const chunks = quick ? 1_000 : 20_000;
  const open = quick ? 1_000 : 10_000;
  const { 'chunk-codec': codec } = await findGoPrograms(peerPrograms, { log: progress, only: ['chunk-codec'] });
  const env = { ...process.env, GOMAXPROCS: '1' };
  const [command, ...args] = [...oneCoreWrapper(), codec, String(chunks), String(open)];
  const { stdout } = await promisify(execFile)(command!, args, { env });
  const theirs = JSON.parse(stdout) as Record<'encode' | 'encodeOpen' | 'decode' | 'bytesPerSample', number>;

  const series = Array.from({ length: chunks }, (_, c) => {
    const samples = new SampleBuffer(perChunk);
    for (let k = 0; k < perChunk; k++) {
      samples.times[k] = benchStart + k * stepMs;
      samples.values[k] = valueOf(c, k);
    }
    samples.length = perChunk;
    return samples;
  });
  let encoded: Uint8Array[] = [];
  const encode = (): void => {
    encoded = series.map((samples) => encodeChunks(samples)[0]!.bytes);
  };
  const samples = chunks * perChunk;
  const encodeRate = samples / (await best(runs, encode));
  const scrapes = Array.from({ length: perChunk }, (_, k) => {
    const values = Float64Array.from({ length: open }, (_v, s) => valueOf(s, k));
    return new Uint32Array(values.buffer);
  });
  let head = new HeadSeries();
  const encodeOpen = (): void => {
    head = new HeadSeries();
    for (let s = 0; s < open; s++) head.clear(s);
    for (let k = 0; k < perChunk; k++) {
      const t = benchStart + k * stepMs;
      const words = scrapes[k]!;
      for (let s = 0; s < open; s++) head.append(s, t, words[2 * s + highWord]!, words[2 * s + lowWord]!, 0);
    }
  };
  const encodeOpenRate = (open * perChunk) / (await best(runs, encodeOpen));
  for (let s = 0; s < open; s++) {
    head.finishOpen(s);
    const [first, ...more] = head.list(s);
    if (more.length > 0 || Buffer.compare(head.chunks.get(first!).bytes, encoded[s]!) !== 0) {
      throw new Error(`series ${s} has other bytes in the head`);
    }
  }
  const out = new SampleBuffer(perChunk);
  const decode = (): void => {
    for (const chunk of encoded) {
      out.length = 0;
      decodeXorChunk(chunk, out);
    }
  };
  const decodeRate = samples / (await best(runs, decode));
  const bytes = encoded.reduce((n, b) => n + b.length, 0) / samples;
  const goal = { value: 0.9, of: 'ratio' } as const;
  report('chunk/encode/series-by-series', 'samples/s', encodeRate, { peer: theirs.encode, goal });
  report(`chunk/encode/scrape-ordered/${open}-open`, 'samples/s', encodeOpenRate, { peer: theirs.encodeOpen });
  report('chunk/decode', 'samples/s', decodeRate, { peer: theirs.decode, goal: { value: 1.2, of: 'ratio' } });
  report('chunk/bytes-per-sample', 'B', bytes, { peer: theirs.bytesPerSample });
}
