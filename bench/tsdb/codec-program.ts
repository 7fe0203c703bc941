/**
 * Runs our codec of XOR chunks on the values that peer/main.go encodes, and prints JSON of the same form.
 * Arguments: how many chunks are encoded one after the other; how many are open at the same time.
 */
import { decodeXorChunk, encodeChunks, highWord, lowWord, SampleBuffer } from '../../src/tsdb/chunk/index.ts';
import { HeadSeries } from '../../src/tsdb/head/head-series.ts';
import type { CodecRates } from './codec.ts';
import { benchStart, stepMs, valueOf } from './series.ts';

const perChunk = 120;
const [chunks = 0, open = 0] = process.argv.slice(2).map(Number);

/** Passes are repeated for this long to warm up, and again to be measured; as in peer/main.go. Units: s. */
const passesFor = 0.5;

/** Repeats `work`, and returns its mean time once V8 has compiled the code. Units: s. */
function passSeconds(work: () => void): number {
  const repeat = (): number => {
    const from = performance.now();
    let passes = 0;
    for (; performance.now() - from < passesFor * 1000; passes++) work();
    return (performance.now() - from) / 1000 / passes;
  };
  repeat();
  return repeat();
}

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
const encode = passSeconds(() => {
  encoded = series.map((samples) => encodeChunks(samples)[0]!.bytes);
});

const scrapes = Array.from({ length: perChunk }, (_, k) => {
  const values = Float64Array.from({ length: open }, (_v, s) => valueOf(s, k));
  return new Uint32Array(values.buffer);
});
let head = new HeadSeries();
const encodeOpen = passSeconds(() => {
  head = new HeadSeries();
  for (let s = 0; s < open; s++) head.clear(s);
  for (let k = 0; k < perChunk; k++) {
    const t = benchStart + k * stepMs;
    const words = scrapes[k]!;
    for (let s = 0; s < open; s++) head.append(s, t, words[2 * s + highWord]!, words[2 * s + lowWord]!, 0);
  }
});
for (let s = 0; s < Math.min(open, chunks); s++) {
  head.finishOpen(s);
  const [first, ...more] = head.list(s);
  if (more.length > 0 || Buffer.compare(head.chunks.get(first!).bytes, encoded[s]!) !== 0) {
    throw new Error(`series ${s} has other bytes in the head`);
  }
}

const out = new SampleBuffer(perChunk);
const decode = passSeconds(() => {
  for (const chunk of encoded) {
    out.length = 0;
    decodeXorChunk(chunk, out);
  }
});
const samples = chunks * perChunk;
const rates: CodecRates = {
  encode: samples / encode,
  encodeOpen: (open * perChunk) / encodeOpen,
  decode: samples / decode,
  bytesPerSample: encoded.reduce((n, bytes) => n + bytes.length, 0) / samples,
};
process.stdout.write(`${JSON.stringify(rates)}\n`);
