/**
 * The little of DER that a certificate needs. Each function returns a finished TLV.
 * Source: ITU-T X.690; the shapes used are those of RFC 5280.
 */

/** One tag-length-value; `parts` are concatenated as the value. */
export function tlv(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

export const sequence = (...parts: Uint8Array[]): Buffer => tlv(0x30, ...parts);
export const set = (...parts: Uint8Array[]): Buffer => tlv(0x31, ...parts);
export const octets = (bytes: Uint8Array): Buffer => tlv(0x04, bytes);
export const utf8 = (text: string): Buffer => tlv(0x0c, Buffer.from(text));
export const boolean = (value: boolean): Buffer => tlv(0x01, Buffer.from([value ? 0xff : 0]));
/** Bit string whose last byte has `unused` meaningless low bits. */
export const bits = (bytes: Uint8Array, unused = 0): Buffer => tlv(0x03, Buffer.from([unused]), bytes);

/** Unsigned big-endian integer: a zero byte is put in front where the top bit would mean a minus sign. */
export function integer(bytes: Uint8Array): Buffer {
  return tlv(0x02, (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** Object identifier from its dotted text. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let v = Math.floor(arc / 128); v > 0; v = Math.floor(v / 128)) groups.unshift((v & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tlv(0x06, Buffer.from(bytes));
}

/** UTCTime, good until 2049. */
export function utcTime(date: Date): Buffer {
  return tlv(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`));
}

function lengthOf(n: number): Buffer {
  if (n < 0x80) return Buffer.from([n]);
  if (n < 0x100) return Buffer.from([0x81, n]);
  return Buffer.from([0x82, n >> 8, n & 0xff]);
}
