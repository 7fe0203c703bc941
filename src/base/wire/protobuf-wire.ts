import { OperatorError } from '../errors.ts';

/**
 * Reads the protobuf wire format (proto3), where a schema library would cost too much.
 * Source: the protobuf encoding guide. Groups are refused.
 */
export class WireReader {
  readonly bytes: Uint8Array;
  pos: number;
  readonly end: number;
  readonly #view: DataView;

  /** `view` is that of the enclosing reader: creating a view costs more than reading a small message. */
  constructor(bytes: Uint8Array, start = 0, end = bytes.length, view?: DataView) {
    this.bytes = bytes;
    this.pos = start;
    this.end = end;
    this.#view = view ?? new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.pos >= this.end;
  }

  /** Field key: `(number << 3) | wireType`. */
  key(): number {
    const key = this.uint();
    if (key >>> 3 === 0) throw malformed('field number 0');
    return key;
  }

  /** A varint as a double; exact up to 2^53, and rounded above. */
  uint(): number {
    let result = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      if (this.pos >= this.end) throw malformed('truncated varint');
      const b = this.bytes[this.pos++]!;
      result += (b & 127) * scale;
      if (b < 128) return result;
      scale *= 128;
    }
    throw malformed('varint of more than 10 bytes');
  }

  /** An int64/int32 varint (two's complement) as a double. */
  int(): number {
    // Up to 49 bits are exact in a double, and every non-negative value of that size has at most seven bytes.
    for (let at = this.pos; at < this.end && at < this.pos + 7; at++) if (this.bytes[at]! < 128) return this.uint();
    return Number(BigInt.asIntN(64, this.uint64()));
  }

  /** A varint with all its 64 bits. */
  uint64(): bigint {
    let result = 0n;
    let shift = 0n;
    for (let i = 0; i < 10; i++) {
      if (this.pos >= this.end) throw malformed('truncated varint');
      const b = this.bytes[this.pos++]!;
      result |= BigInt(b & 127) << shift;
      if (b < 128) return BigInt.asUintN(64, result);
      shift += 7n;
    }
    throw malformed('varint of more than 10 bytes');
  }

  bool(): boolean {
    return this.uint() !== 0;
  }

  fixed32(): number {
    this.#need(4);
    const value = this.#view.getUint32(this.pos, true);
    this.pos += 4;
    return value;
  }

  fixed64(): bigint {
    this.#need(8);
    const value = this.#view.getBigUint64(this.pos, true);
    this.pos += 8;
    return value;
  }

  double(): number {
    this.#need(8);
    const value = this.#view.getFloat64(this.pos, true);
    this.pos += 8;
    return value;
  }

  /** A length-delimited field's bytes, without a copy. */
  view(): Uint8Array {
    const length = this.uint();
    this.#need(length);
    const value = this.bytes.subarray(this.pos, this.pos + length);
    this.pos += length;
    return value;
  }

  /** Skips a length-delimited field and returns the start of its bytes; they end at `pos`. */
  span(): number {
    const length = this.uint();
    const start = this.pos;
    this.#advance(length);
    return start;
  }

  /** The fixed64 at a position of `bytes` as a double: rounded to the nearest above 2^53. */
  fixed64At(at: number): number {
    return this.#view.getUint32(at + 4, true) * 4_294_967_296 + this.#view.getUint32(at, true);
  }

  /** The double at a position of `bytes`. */
  doubleAt(at: number): number {
    return this.#view.getFloat64(at, true);
  }

  /** UTF-8 text; malformed UTF-8 is refused, as proto3 demands. */
  string(): string {
    const bytes = this.view();
    try {
      return utf8.decode(bytes);
    } catch (cause) {
      throw malformed('string is not UTF-8', cause);
    }
  }

  /** Text in which U+FFFD replaces what is not UTF-8: for texts of third parties, which their sender passes on. */
  text(): string {
    return replacing.decode(this.view());
  }

  /** A reader over an embedded message. */
  message(): WireReader {
    const length = this.uint();
    this.#need(length);
    const reader = new WireReader(this.bytes, this.pos, this.pos + length, this.#view);
    this.pos += length;
    return reader;
  }

  /** Skips a field that is not read. */
  skip(wireType: number): void {
    if (wireType === 0) this.uint();
    else if (wireType === 1) this.#advance(8);
    else if (wireType === 2) this.#advance(this.uint());
    else if (wireType === 5) this.#advance(4);
    else throw malformed(`wire type ${wireType}`);
  }

  #advance(n: number): void {
    this.#need(n);
    this.pos += n;
  }

  #need(n: number): void {
    if (n > this.end - this.pos) throw malformed('field reaches past the end of its message');
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const replacing = new TextDecoder('utf-8', { ignoreBOM: true });
/** Texts below this length are tried as ASCII first. Units: UTF-16 units. */
const shortText = 64;
/** Length of the longest varint. */
const varintBytes = 10;
/** The largest double that an unsigned integer of 32 or 64 bits can be. */
const largestUint = { 32: 2 ** 32 - 1, 64: 2 ** 64 - 2_048 };
/** Bytes that `open` reserves for a length; `close` refuses a longer one. */
const lengthBytes = 4;

function malformed(reason: string, cause?: unknown): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `protobuf: ${reason}`, { cause });
}

/**
 * Appends protobuf fields to a buffer that grows by doubling. `finish()` returns a view of what was written. The buffer
 * comes from Node's pool while it is small, so short messages cause no garbage collection.
 */
export class WireWriter {
  #bytes: Buffer;
  /** Created for the first double: most messages have none, and creating a view costs more than writing a message. */
  #view: DataView | undefined;
  #length = 0;

  constructor(initialCapacity = 256) {
    this.#bytes = Buffer.allocUnsafe(initialCapacity);
  }

  get length(): number {
    return this.#length;
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Starts over in the same memory: the previous result of `finish` is overwritten. */
  reset(): this {
    this.#length = 0;
    return this;
  }

  key(field: number, wireType: number): this {
    return this.rawVarint(field * 8 + wireType);
  }

  /** An unsigned integer field; the value is a whole number below 2^64. */
  uint(field: number, value: number): this {
    this.#reserve(2 * varintBytes);
    this.#length = this.#putVarint(this.#putVarint(this.#length, field * 8), value);
    return this;
  }

  /** An unsigned integer field: the whole number nearest to the value that it can hold. */
  nearestUint(field: number, value: number, bits: 32 | 64): this {
    return this.uint(field, Math.min(largestUint[bits], Math.max(0, Math.round(value))));
  }

  /** An int64 field; negative numbers take ten bytes, as the format requires. */
  int(field: number, value: number): this {
    this.key(field, 0);
    if (value >= 0) return this.rawVarint(value);
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 127n) {
      this.#push(Number(rest & 127n) | 128);
      rest >>= 7n;
    }
    this.#push(Number(rest));
    return this;
  }

  double(field: number, value: number): this {
    return this.key(field, 1).rawDouble(value);
  }

  rawDouble(value: number): this {
    this.#reserve(8);
    this.#view ??= new DataView(this.#bytes.buffer, this.#bytes.byteOffset);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
    return this;
  }

  string(field: number, value: string): this {
    // A UTF-16 unit takes at most three bytes in UTF-8.
    this.#reserve(2 * varintBytes + 3 * value.length);
    const start = this.#putVarint(this.#length, field * 8 + 2) + 1;
    const length = value.length < shortText ? this.#putAscii(start, value) : -1;
    return this.#putLength(start, length >= 0 ? length : this.#bytes.write(value, start));
  }

  /**
   * Writes short ASCII, which most names and values are, by a loop that is many times faster than the encoder. Returns
   * −1 for other text.
   */
  #putAscii(start: number, value: string): number {
    const bytes = this.#bytes;
    let seen = 0;
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      seen |= unit;
      bytes[start + i] = unit;
    }
    return seen < 128 ? value.length : -1;
  }

  bytes(field: number, value: Uint8Array): this {
    return this.key(field, 2).rawVarint(value.length).raw(value);
  }

  /**
   * An embedded message, written by `fill` into this same writer: a writer of its own would cost more than the content.
   */
  message(field: number, fill: (writer: this) => void): this {
    this.#reserve(2 * varintBytes);
    const start = this.#putVarint(this.#length, field * 8 + 2) + 1;
    this.#length = start;
    fill(this);
    this.#reserve(varintBytes);
    return this.#putLength(start, this.#length - start);
  }

  /** Writes the length before the content at `start`. If it takes more than the one reserved byte, content is moved. */
  #putLength(start: number, length: number): this {
    let more = 0;
    for (let rest = length; rest > 127; rest = Math.floor(rest / 128)) more++;
    if (more > 0) this.#bytes.copyWithin(start + more, start, start + length);
    this.#length = this.#putVarint(start - 1, length) + length;
    return this;
  }

  /** Begins an embedded message in place: pass the result to `close` after writing the message. */
  open(field: number): number {
    this.key(field, 2).#reserve(lengthBytes);
    return (this.#length += lengthBytes);
  }

  /** Ends an embedded message. Its length always takes the same number of bytes, which the wire format allows. */
  close(start: number): this {
    let rest = this.#length - start;
    if (rest >= 128 ** lengthBytes) throw malformed('embedded message too long');
    for (let at = start - lengthBytes; at < start; at++) {
      this.#bytes[at] = at === start - 1 ? rest : (rest & 127) | 128;
      rest >>>= 7;
    }
    return this;
  }

  rawVarint(value: number): this {
    this.#reserve(varintBytes);
    this.#length = this.#putVarint(this.#length, value);
    return this;
  }

  /** Returns where the varint ends. */
  #putVarint(start: number, value: number): number {
    const bytes = this.#bytes;
    let at = start;
    let rest = value;
    while (rest > 127) {
      bytes[at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    bytes[at++] = rest;
    return at;
  }

  /** Writes the first `count` values of a list as varints. */
  rawVarints(values: readonly number[], count: number): this {
    this.#reserve(8 * count);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = 0; i < count; i++) {
      let rest = values[i]!;
      while (rest > 127) {
        bytes[at++] = (rest % 128) | 128;
        rest = Math.floor(rest / 128);
      }
      bytes[at++] = rest;
    }
    this.#length = at;
    return this;
  }

  raw(value: Uint8Array): this {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  /** Writes one raw byte. */
  rawByte(byte: number): this {
    this.#push(byte);
    return this;
  }

  #push(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
  }

  #reserve(n: number): void {
    if (this.#length + n <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + n));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = undefined;
  }
}
