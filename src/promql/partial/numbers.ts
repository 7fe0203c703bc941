import { OperatorError } from '../../base/errors.ts';

/**
 * Columns of doubles, one entry a step, in as few bytes as is cheap to find out.
 * Shape: a byte that tells the form, then the entries at the steps where `mask` is set (all others are 0).
 * zero: nothing. constant: one double. small: whole numbers below 128, a byte each. double: 8 bytes each, little-endian,
 * bit for bit.
 */
const form = { zero: 0, constant: 1, small: 2, double: 3 } as const;

/** Writes the entries of `values` where `mask` is not 0. */
export function encodeDoubles(values: Float64Array, mask: Uint8Array): Uint8Array {
  let count = 0;
  let first = 0;
  let same = true;
  let small = true;
  for (let i = 0; i < values.length; i++) {
    if (mask[i] === 0) continue;
    const value = values[i]!;
    if (count++ === 0) first = value;
    else if (!Object.is(value, first)) same = false;
    if (small && !(value >= 0 && value < 128 && value % 1 === 0 && !Object.is(value, -0))) small = false;
    if (!same && !small) return encodeAll(values, mask);
  }
  if (count === 0 || (same && Object.is(first, 0))) return Uint8Array.of(form.zero);
  if (same) {
    const out = new Uint8Array(9);
    out[0] = form.constant;
    new DataView(out.buffer).setFloat64(1, first, true);
    return out;
  }
  if (!small) return encodeAll(values, mask);
  const out = new Uint8Array(1 + count);
  out[0] = form.small;
  for (let i = 0, at = 1; i < values.length; i++) if (mask[i] !== 0) out[at++] = values[i]!;
  return out;
}

function encodeAll(values: Float64Array, mask: Uint8Array): Uint8Array {
  let count = 0;
  for (const one of mask) if (one !== 0) count++;
  const packed = count === values.length ? values : new Float64Array(count);
  if (packed !== values) for (let i = 0, at = 0; i < values.length; i++) if (mask[i] !== 0) packed[at++] = values[i]!;
  const out = new Uint8Array(1 + 8 * count);
  out[0] = form.double;
  out.set(new Uint8Array(packed.buffer, packed.byteOffset, 8 * count), 1);
  return out;
}

/** Reads what `encodeDoubles` wrote for the same mask. Errors: ERR_INPUT_INVALID for a length that does not fit. */
export function decodeDoubles(bytes: Uint8Array, mask: Uint8Array): Float64Array {
  const values = new Float64Array(mask.length);
  let count = 0;
  for (const one of mask) if (one !== 0) count++;
  const data = bytes.subarray(1);
  const fits = (length: number): void => {
    if (data.length !== length) throw malformed(`column of ${data.length} bytes, expected ${length}`);
  };
  switch (bytes[0]) {
    case form.zero:
      fits(0);
      return values;
    case form.constant: {
      fits(8);
      const value = new DataView(data.buffer, data.byteOffset, 8).getFloat64(0, true);
      for (let i = 0; i < mask.length; i++) if (mask[i] !== 0) values[i] = value;
      return values;
    }
    case form.small:
      fits(count);
      for (let i = 0, at = 0; i < mask.length; i++) if (mask[i] !== 0) values[i] = data[at++]!;
      return values;
    case form.double: {
      fits(8 * count);
      // A copy, because doubles must lie on a multiple of eight. (Node's Buffer has a slice() that is none.)
      const packed = new Float64Array(Uint8Array.from(data).buffer);
      if (count === mask.length) return packed;
      for (let i = 0, at = 0; i < mask.length; i++) if (mask[i] !== 0) values[i] = packed[at++]!;
      return values;
    }
    default:
      throw malformed(`form ${bytes[0]} of a column`);
  }
}

/**
 * What each step holds: 0, 1 or 2. Shape: one byte 1 when all are 1; else 0 and two bits a step, lowest first.
 */
export function encodeKinds(kinds: Uint8Array): Uint8Array {
  if (kinds.every((kind) => kind === 1)) return Uint8Array.of(1);
  const out = new Uint8Array(1 + Math.ceil(kinds.length / 4));
  for (let i = 0; i < kinds.length; i++) out[1 + (i >> 2)]! |= kinds[i]! << (2 * (i & 3));
  return out;
}

/** Reads what `encodeKinds` wrote. Errors: ERR_INPUT_INVALID for another length or a kind that is none. */
export function decodeKinds(bytes: Uint8Array, steps: number): Uint8Array {
  const kinds = new Uint8Array(steps);
  if (bytes.length === 1 && bytes[0] === 1) return kinds.fill(1);
  if (bytes[0] !== 0 || bytes.length !== 1 + Math.ceil(steps / 4)) throw malformed('presence of another length');
  for (let i = 0; i < steps; i++) {
    const kind = (bytes[1 + (i >> 2)]! >> (2 * (i & 3))) & 3;
    if (kind === 3) throw malformed('step that holds neither a float nor a histogram');
    kinds[i] = kind;
  }
  return kinds;
}

export function malformed(reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `partial answer: ${reason}`);
}
