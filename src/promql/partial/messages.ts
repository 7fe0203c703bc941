import { WireReader } from '../../base/wire/protobuf-wire.ts';

/**
 * Reads a framed message, which is exactly one field of bytes. Returns the content and the number of that field.
 * Errors: the one made by `malformed`, for a message without content or with more than one.
 */
export function oneContent(
  message: Uint8Array,
  malformed: (reason: string) => Error,
): { field: number; content: WireReader } {
  const outer = new WireReader(message);
  const key = outer.key();
  if ((key & 7) !== 2) throw malformed('message without content');
  const content = outer.message();
  if (!outer.done) throw malformed('message with more than one content');
  return { field: key >> 3, content };
}

/**
 * Every element of a list of rows or texts begins within this many bytes of its message: writers begin the next message
 * after 128 KiB. So a message is short, unless its last element is long. Units: bytes.
 */
export const listBytes = 1024 * 1024;

/**
 * Calls `read` at each element of a message that is a list (a repeated field 1 of bytes). Other fields are skipped.
 * Errors: the one made by `malformed`, for an element that begins after more than `most` bytes.
 */
export function eachOf(reader: WireReader, most: number, malformed: (reason: string) => Error, read: () => void): void {
  const last = reader.pos + most;
  while (!reader.done) {
    if (reader.pos > last) throw malformed(`list that goes on after ${most} bytes`);
    const key = reader.key();
    if (key === 10) read();
    else reader.skip(key & 7);
  }
}
