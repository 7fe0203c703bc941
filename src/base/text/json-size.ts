const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Most open lists and objects around a value of a text from outside. Objects of the API server have a few dozen. */
export const maxJsonDepth = 1_000;

export interface JsonSize {
  /** How many lists and objects are open at most at one place. */
  readonly depth: number;
  /** Lists, objects and commas: at least as many as there are values, less one. */
  readonly values: number;
}

/**
 * How large the value of a JSON text will be. JSON.parse takes some 40 bytes of memory for each open bracket, so a
 * text from anyone is measured before it is parsed.
 * Shape: takes time in proportion to the bytes, and no memory. An invalid text is measured too, at least up to the fault
 * at which JSON.parse stops.
 */
export function jsonSize(bytes: Uint8Array): JsonSize {
  let [open, depth, values] = [0, 0, 0];
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case quote:
        i = endOfString(bytes, i);
        break;
      case openList:
      case openObject:
        values++;
        if (++open > depth) depth = open;
        break;
      case closeList:
      case closeObject:
        open--;
        break;
      case comma:
        values++;
    }
  }
  return { depth, values };
}

function endOfString(bytes: Uint8Array, start: number): number {
  let i = start + 1;
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1;
  return i;
}
