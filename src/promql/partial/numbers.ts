import type { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import { OperatorError } from '../../base/errors.ts';

/**
 * Columns of doubles, one entry for each step, in the most compact form that is cheap to determine.
 * Shape: a byte with the form, then the entries at the steps where `mask` is not 0 (all others are 0).
 * zero: nothing. constant: one double. small: whole numbers below 128, a byte each. double: 8 bytes each,
 * little-endian, bit for bit.
 */
const form = { zero: 0, constant: 1, small: 2, double: 3 } as const;

/** Which steps have an entry: those whose number in the mask is not 0; null: all steps. */
export type Mask = ArrayLike<number> | null;

/** `numbers` as a mask: null, which is cheapest, when none of them is 0. */
export function maskOf<T extends ArrayLike<number>>(numbers: T): T | null {
  for (let i = 0; i < numbers.length; i++) if (numbers[i] === 0) return numbers;
  return null;
}

/** Writes the entries of `values` where the mask is not 0, as field `field`. */
export function writeDoubles(out: WireWriter, field: number, values: Float64Array, mask: Mask): void {
  let count = 0;
  let first = 0;
  let same = true;
  let small = true;
  for (let i = 0; i < values.length; i++) {
    if (mask !== null && mask[i] === 0) continue;
    const value = values[i]!;
    if (count++ === 0) first = value;
    else if (same && !Object.is(value, first)) same = false;
    if (small && !(value >= 0 && value < 128 && value % 1 === 0 && !Object.is(value, -0))) small = false;
    if (!same && !small) return writeAll(out, field, values, mask);
  }
  out.key(field, 2);
  if (count === 0 || (same && Object.is(first, 0))) out.rawVarint(1).rawByte(form.zero);
  else if (same) out.rawVarint(9).rawByte(form.constant).rawDouble(first);
  else {
    out.rawVarint(1 + count).rawByte(form.small);
    for (let i = 0; i < values.length; i++) if (mask === null || mask[i] !== 0) out.rawByte(values[i]!);
  }
}

function writeAll(out: WireWriter, field: number, values: Float64Array, mask: Mask): void {
  let count = values.length;
  if (mask !== null) for (let i = 0; i < values.length; i++) if (mask[i] === 0) count--;
  out
    .key(field, 2)
    .rawVarint(1 + 8 * count)
    .rawByte(form.double);
  if (count === values.length) out.raw(new Uint8Array(values.buffer, values.byteOffset, 8 * count));
  else for (let i = 0; i < values.length; i++) if (mask![i] !== 0) out.rawDouble(values[i]!);
}

/**
 * Reads the output of `writeDoubles` for the same mask: the bytes from `start` to `end` of the reader.
 * Errors: ERR_INPUT_INVALID for a wrong length.
 */
export function readDoubles(reader: WireReader, start: number, end: number, mask: Mask, steps: number): Float64Array {
  const values = doubles(steps);
  const { bytes } = reader;
  const data = start + 1;
  const length = end - data;
  const fits = (expected: number): void => {
    if (length !== expected) throw malformed(`column of ${length} bytes, expected ${expected}`);
  };
  if (length < 0) throw malformed('column without a form');
  switch (bytes[start]) {
    case form.zero:
      fits(0);
      return values;
    case form.constant: {
      fits(8);
      const value = reader.doubleAt(data);
      for (let i = 0; i < steps; i++) if (mask === null || mask[i] !== 0) values[i] = value;
      return values;
    }
    case form.small:
      fits(entries(mask, steps));
      for (let i = 0, at = data; i < steps; i++) if (mask === null || mask[i] !== 0) values[i] = bytes[at++]!;
      return values;
    case form.double:
      fits(8 * entries(mask, steps));
      copyDoubles(bytes, data, values, mask);
      return values;
    default:
      throw malformed(`form ${bytes[start]} of a column`);
  }
}

/** Returns the values after checking that each is a count. Errors: ERR_INPUT_INVALID. */
export function counts(values: Float64Array): Float64Array {
  for (let i = 0; i < values.length; i++) {
    if (!(values[i]! >= 0 && Number.isInteger(values[i]))) throw malformed('count that is none');
  }
  return values;
}

function entries(mask: Mask, steps: number): number {
  if (mask === null) return steps;
  let count = 0;
  for (let i = 0; i < steps; i++) if (mask[i] !== 0) count++;
  return count;
}

/** Copies doubles as bytes, because they are not aligned to eight bytes in the message and NaN must keep its bits. */
function copyDoubles(bytes: Uint8Array, at: number, values: Float64Array, mask: Mask): void {
  const out = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const steps = values.length;
  for (let i = 0, end = i; i < steps; i = end) {
    // Steps with an entry are mostly consecutive.
    while (i < steps && mask !== null && mask[i] === 0) i++;
    end = i;
    while (end < steps && (mask === null || mask[end] !== 0)) end++;
    out.set(bytes.subarray(at, at + 8 * (end - i)), 8 * i);
    at += 8 * (end - i);
  }
}

/** Small arrays of doubles are cut from one large array, because a buffer for each would cost more than its content. */
const arenaLength = 8_192;
let arena = new Float64Array(0);
let arenaUsed = 0;

function doubles(length: number): Float64Array {
  // The JavaScript engine stores very small arrays inside the object, and large ones are few.
  if (length <= 8 || length > arenaLength / 8) return new Float64Array(length);
  if (arenaUsed + length > arena.length) {
    arena = new Float64Array(arenaLength);
    arenaUsed = 0;
  }
  const values = arena.subarray(arenaUsed, arenaUsed + length);
  arenaUsed += length;
  return values;
}

/** Writes each step's kind, 0, 1 or 2. Shape: byte 1 if all are 1; else byte 0, then two bits a step, lowest first. */
export function writeKinds(out: WireWriter, field: number, kinds: Uint8Array): void {
  if (allOne(kinds)) {
    out.key(field, 2).rawVarint(1).rawByte(1);
    return;
  }
  const packed = new Uint8Array(1 + Math.ceil(kinds.length / 4));
  for (let i = 0; i < kinds.length; i++) packed[1 + (i >> 2)]! |= kinds[i]! << (2 * (i & 3));
  out.bytes(field, packed);
}

function allOne(kinds: Uint8Array): boolean {
  for (let i = 0; i < kinds.length; i++) if (kinds[i] !== 1) return false;
  return true;
}

let ones = new Uint8Array(0);

/**
 * The kinds of a column with a float at every step. The kinds of a column are never written to, so most columns share
 * one array.
 */
export function allFloats(steps: number): Uint8Array {
  if (ones.length !== steps) ones = new Uint8Array(steps).fill(1);
  return ones;
}

/** Reads the output of `writeKinds`. Errors: ERR_INPUT_INVALID for a wrong length or an unknown kind. */
export function readKinds(bytes: Uint8Array, start: number, end: number, steps: number): Uint8Array {
  if (end - start === 1 && bytes[start] === 1) return allFloats(steps);
  if (bytes[start] !== 0 || end - start !== 1 + Math.ceil(steps / 4)) throw malformed('presence of another length');
  const kinds = new Uint8Array(steps);
  for (let i = 0; i < steps; i++) {
    const kind = (bytes[start + 1 + (i >> 2)]! >> (2 * (i & 3))) & 3;
    if (kind === 3) throw malformed('step that holds neither a float nor a histogram');
    kinds[i] = kind;
  }
  return kinds;
}

export function malformed(reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `partial answer: ${reason}`);
}
