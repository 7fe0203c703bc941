import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  decodeMarked,
  decodeXorChunk,
  encodeChunks,
  encodeXor,
  highBits,
  lowBits,
  recutChunk,
  SampleBuffer,
  slackBytes,
  XorStates,
} from './index.ts';

interface Golden {
  vectors: { name: string; t: number[]; v: string[]; bytes: string }[];
  digest: { seed: number; chunks: number; bytes: number; sha256: string };
}
const golden = JSON.parse(readFileSync(new URL('testdata/xor-vectors.json', import.meta.url), 'utf8')) as Golden;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const word = (text: string): number => parseInt(text, 16) >>> 0;

type Sample = readonly [t: number, high: number, low: number];

function bufferOf(samples: readonly Sample[]): SampleBuffer {
  const buffer = new SampleBuffer(samples.length);
  for (const [t, high, low] of samples) buffer.pushBits(t, high, low);
  return buffer;
}

function encode(samples: readonly Sample[]): Uint8Array {
  return encodeChunks(bufferOf(samples), 0, samples.length, Infinity)[0]!.bytes;
}

/** Encodes as the head does: a few samples at a time, into memory with old content, next to chunks of other series. */
function encodeInPlace(samples: readonly Sample[], atOnce: number): Uint8Array {
  const { times, words } = bufferOf(samples);
  const base = 96;
  const bytes = new Uint8Array(base + 28 * (samples.length + 1)).fill(0xa5);
  const states = new XorStates(2);
  states.grow(5);
  states.reset(3);
  for (let from = 0; from < samples.length; from += atOnce) {
    encodeXor(states, 3, new DataView(bytes.buffer), base, times, words, from, Math.min(samples.length, from + atOnce));
  }
  expect([states.count(3), states.minT(3), states.maxT(3)]).toEqual([
    samples.length,
    times[0],
    times[samples.length - 1],
  ]);
  expect(bytes.subarray(0, base).every((byte) => byte === 0xa5)).toBe(true);
  const copy = bytes.slice(base, base + states.byteLength(3));
  states.putCount(3, copy);
  return copy;
}

function decode(bytes: Uint8Array, mint?: number): [number, number, number][] {
  const out = new SampleBuffer(1);
  decodeXorChunk(bytes, out, mint);
  return Array.from({ length: out.length }, (_, i) => [out.times[i]!, out.highAt(i), out.lowAt(i)]);
}

describe('bytes of Prometheus', () => {
  test.each(golden.vectors.map((v) => [v.name, v] as const))(
    '%s: encodes to the same bytes and decodes back',
    (_, v) => {
      const samples = v.t.map((t, i) => [t, word(v.v[i]!.slice(0, 8)), word(v.v[i]!.slice(8))] as const);
      const bytes = encode(samples);
      expect(hex(bytes)).toBe(v.bytes);
      expect(hex(encodeInPlace(samples, 1))).toBe(v.bytes);
      expect(decode(bytes)).toEqual(samples);
    },
  );

  test('five thousand generated chunks have the digest of the same chunks in Prometheus', () => {
    const hash = createHash('sha256');
    const next = xorshift(golden.digest.seed);
    let total = 0;
    for (let i = 0; i < golden.digest.chunks; i++) {
      const count = 1 + (next() % 240);
      const samples = generate(next, i % 5, count);
      const bytes = encode(samples);
      hash.update(bytes);
      total += bytes.length;
      if (i % 50 === 0) expect(decode(bytes)).toEqual(samples);
    }
    expect(total).toBe(golden.digest.bytes);
    expect(hash.digest('hex')).toBe(golden.digest.sha256);
  });
});

describe('chunk reading', () => {
  test('whatever is appended comes back bit for bit', () => {
    // The encoding is short for steady times and repeated values, and must accept any others.
    const word = fc.oneof(fc.constantFrom(0, 1, 0x40000000), fc.integer({ min: 0, max: 2 ** 32 - 1 }));
    const gap = fc.oneof(fc.constantFrom(0, 15_000, 15_001), fc.integer({ min: 0, max: 2 ** 31 }));
    const sample = fc.tuple(gap, word, word);
    fc.assert(
      fc.property(
        fc.integer({ min: -(2 ** 40), max: 2 ** 45 }),
        fc.array(sample, { minLength: 1, maxLength: 150 }),
        (start, gaps) => {
          let t = start;
          const samples = gaps.map(([gap, high, low]) => [(t += gap), high, low] as const);
          const bytes = encode(samples);
          expect(decode(bytes)).toEqual(samples);
          const mint = samples[samples.length >> 1]![0];
          expect(decode(bytes, mint)).toEqual(samples.filter(([at]) => at >= mint));
        },
      ),
    );
  });

  test('a chunk that grows in place, by one or several samples a call, has the bytes that one call would give', () => {
    const next = xorshift(77);
    for (let i = 0; i < 200; i++) {
      const samples = generate(next, i % 5, 1 + (next() % 130));
      expect(hex(encodeInPlace(samples, 1 + (i % 7)))).toBe(hex(encode(samples)));
    }
  });

  test('every truncation of a chunk is refused and leaves the buffer as it was', () => {
    const whole = encode(Array.from({ length: 40 }, (_, i) => [i * 15_000 + (i % 3), highBits(i / 3), lowBits(i / 3)]));
    expect(whole.length).toBeGreaterThan(40);
    for (let length = 0; length < whole.length; length++) {
      const out = new SampleBuffer();
      out.pushBits(1, 2, 3);
      expect(() => decodeXorChunk(whole.subarray(0, length), out)).toThrow(/XOR chunk/);
      expect(out.length).toBe(1);
    }
  });

  test('a chunk of constant values can be decoded from any time on, and is refused when it is truncated', () => {
    for (let length = 3; length <= 120; length++) {
      for (const jump of [0, 1, 2, 15, 16, 17, 18, 33, length - 1]) {
        const samples = Array.from({ length }, (_, i): Sample => [
          i * 30_000 + (i > jump ? 7 : 0),
          i < jump ? 1 : 2,
          9,
        ]);
        const bytes = encode(samples);
        expect(decode(bytes)).toEqual(samples);
        expect(() => decode(bytes.subarray(0, -1))).toThrow(/XOR chunk/);
        for (const mint of [0, 1, samples[length >> 1]![0], samples.at(-1)![0], samples.at(-1)![0] + 1]) {
          expect(decode(bytes, mint)).toEqual(samples.filter(([t]) => t >= mint));
        }
      }
    }
  });

  test('reads of a growing chunk give the same samples if they start at marks that earlier reads left', () => {
    fc.assert(
      fc.property(
        fc.nat(1e6),
        fc.nat(4),
        fc.array(fc.record({ more: fc.nat(60), mint: fc.nat(140) }), { minLength: 1, maxLength: 12 }),
        (seed, kind, reads) => {
          const samples = generate(xorshift(seed + 1), kind, 120);
          const [marks, states] = [new XorStates(4), new XorStates(4)];
          states.reset(2);
          const { times, words } = bufferOf(samples);
          const at = 64;
          const page = new Uint8Array(at + 28 * 121 + slackBytes).fill(0xa5);
          const view = new DataView(page.buffer);
          encodeXor(states, 2, view, at, times, words, 0, 1);
          for (const { more, mint } of reads) {
            const known = states.count(2);
            encodeXor(states, 2, view, at, times, words, known, Math.min(known + more, samples.length));
            const place = { page, view, at, bits: states.bits(2), count: states.count(2) };
            const from = samples[mint]?.[0] ?? samples.at(-1)![0] + 1;
            const out = new SampleBuffer(1);
            decodeMarked(place, samples[0]![0], from, out, marks, 3);
            const found = Array.from({ length: out.length }, (_, i) => [out.times[i]!, out.highAt(i), out.lowAt(i)]);
            expect(found).toEqual(samples.slice(0, place.count).filter(([t]) => t >= from));
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  test('random bytes cause at most an error', () => {
    const outcomes = new Set<string>();
    const take = (bytes: Uint8Array): void => {
      const out = new SampleBuffer();
      let outcome = 'decoded';
      try {
        decodeXorChunk(bytes, out);
      } catch (error) {
        outcome = (error as { code?: string }).code ?? String(error);
      }
      outcomes.add(outcome);
      expect(out.length).toBe(outcome === 'decoded' ? bytes[0]! * 256 + bytes[1]! : 0);
    };
    const whole = encode(generate(xorshift(5), 2, 60));
    const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
    fc.assert(fc.property(fc.uint8Array({ minLength: 0, maxLength: 200 }), take));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 5 }), fc.nat(whole.length), (changes, length) => {
        const bent = whole.slice();
        for (const [at, value] of changes) bent[at] = value;
        take(bent);
        take(bent.subarray(0, length));
      }),
    );
    expect(outcomes).toEqual(new Set(['decoded', 'ERR_STORE_CORRUPT']));
  });

  test('an ordinary NaN is stored as the one NaN Prometheus uses', () => {
    expect(decode(encode([[0, highBits(NaN), lowBits(NaN)]]))).toEqual([[0, 0x7ff80000, 1]]);
  });

  test.each([
    ['a time out of order', [1000, 999]],
    ['a time that is not whole', [0.5]],
    ['a time beyond the range', [2 ** 52]],
  ])('%s is refused', (_, times) => {
    expect(() => encode(times.map((t) => [t, 0, 0]))).toThrow(RangeError);
  });
});

describe('recut', () => {
  const samples = new SampleBuffer();
  for (let i = 0; i < 100; i++) samples.pushBits(i * 10, highBits(i), lowBits(i));
  const [chunk] = encodeChunks(samples);

  test('a chunk inside the window is returned as it is', () => {
    expect(recutChunk(chunk!, 0, 990)).toBe(chunk);
  });
  test('a chunk that reaches beyond the window is cut to the window, ends included', () => {
    const cut = recutChunk(chunk!, 55, 100)!;
    expect([cut.minT, cut.maxT, cut.count]).toEqual([60, 100, 5]);
    expect(decode(cut.bytes).map(([t]) => t)).toEqual([60, 70, 80, 90, 100]);
  });
  test('nothing is left of a chunk outside the window, or of a window between two samples', () => {
    expect(recutChunk(chunk!, 1000, 2000)).toBeUndefined();
    expect(recutChunk(chunk!, 51, 59)).toBeUndefined();
  });
});

/** The same generator as in the program that made the digest. */
function xorshift(seed: number): () => number {
  let s = seed;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return (s >>>= 0);
  };
}

function generate(next: () => number, kind: number, count: number): [number, number, number][] {
  const out: [number, number, number][] = [];
  let t = 1_795_219_230_000;
  let value = next() % 1000;
  for (let i = 0; i < count; i++) {
    if (kind === 0) t += 30_000;
    else if (kind === 1) {
      t += 30_000 + (next() % 41) - 20;
      value += next() % 50;
    } else if (kind === 2) {
      t += 30_000;
      value += (next() % 100_000) / 1000;
    } else if (kind === 3) {
      t += 1 + (next() % 5_000_000);
      value = (next() - 2_147_483_648) / 3;
    } else t += next() % 20_000;
    let high = highBits(value);
    let low = lowBits(value);
    if (kind === 4) {
      high = next();
      low = next();
      if (next() % 7 === 0) [high, low] = [0x7ff00000, 2];
    }
    out.push([t, high, low]);
  }
  return out;
}
