import type { Labels } from '../../types.ts';

const mask = (1n << 64n) - 1n;
const p1 = 0x9e3779b185ebca87n;
const p2 = 0xc2b2ae3d27d4eb4fn;
const p3 = 0x165667b19e3779f9n;
const p4 = 0x85ebca77c2b2ae63n;
const p5 = 0x27d4eb2f165667c5n;

const rotate = (x: bigint, bits: bigint): bigint => ((x << bits) | (x >> (64n - bits))) & mask;
const round = (acc: bigint, input: bigint): bigint => (rotate((acc + input * p2) & mask, 31n) * p1) & mask;
const mergeRound = (acc: bigint, value: bigint): bigint => ((acc ^ round(0n, value)) * p1 + p4) & mask;

/** xxHash64 with seed 0. */
export function xxHash64(bytes: Buffer): bigint {
  let at = 0;
  let hash: bigint;
  if (bytes.length >= 32) {
    let [v1, v2, v3, v4] = [(p1 + p2) & mask, p2, 0n, (mask + 1n - p1) & mask] as [bigint, bigint, bigint, bigint];
    for (; at + 32 <= bytes.length; at += 32) {
      v1 = round(v1, bytes.readBigUInt64LE(at));
      v2 = round(v2, bytes.readBigUInt64LE(at + 8));
      v3 = round(v3, bytes.readBigUInt64LE(at + 16));
      v4 = round(v4, bytes.readBigUInt64LE(at + 24));
    }
    hash = (rotate(v1, 1n) + rotate(v2, 7n) + rotate(v3, 12n) + rotate(v4, 18n)) & mask;
    for (const v of [v1, v2, v3, v4]) hash = mergeRound(hash, v);
  } else hash = p5;
  hash = (hash + BigInt(bytes.length)) & mask;
  for (; at + 8 <= bytes.length; at += 8) {
    hash = (rotate(hash ^ round(0n, bytes.readBigUInt64LE(at)), 27n) * p1 + p4) & mask;
  }
  if (at + 4 <= bytes.length) {
    hash = (rotate(hash ^ ((BigInt(bytes.readUInt32LE(at)) * p1) & mask), 23n) * p2 + p3) & mask;
    at += 4;
  }
  for (; at < bytes.length; at++) hash = (rotate(hash ^ ((BigInt(bytes[at]!) * p5) & mask), 11n) * p1) & mask;
  hash = ((hash ^ (hash >> 33n)) * p2) & mask;
  hash = ((hash ^ (hash >> 29n)) * p3) & mask;
  return hash ^ (hash >> 32n);
}

/**
 * A fraction in [0, 1) that depends only on the labels: the hash that Prometheus' sampling uses, over its
 * length-prefixed encoding of names and values.
 */
export function labelsFraction(labels: Labels): number {
  const parts: Buffer[] = [];
  for (const pair of labels) {
    for (const text of pair) {
      const bytes = Buffer.from(text);
      const size =
        bytes.length < 255
          ? Buffer.from([bytes.length])
          : Buffer.from([255, bytes.length & 255, (bytes.length >> 8) & 255, bytes.length >> 16]);
      parts.push(size, bytes);
    }
  }
  return Number(xxHash64(Buffer.concat(parts))) / 2 ** 64;
}
