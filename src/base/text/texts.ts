/** Compares two strings by their UTF-16 units; for ASCII that is byte order. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Percent-decodes a part of a URL or a header; malformed text stays as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The path of a URL; undefined when it has none. */
export function pathOf(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  return /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)/i.exec(url)?.[1] || undefined;
}

/** The beginning of a text, in whole characters, that has at most `max` bytes as UTF-8. */
export function cutToBytes(text: string, max: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max));
  return text.slice(0, read);
}

/**
 * The beginning of a text, in whole characters, that has at most `max` UTF-16 units; a half of a surrogate pair becomes
 * U+FFFD, as in all that the API server stores.
 */
export function cutToUnits(text: string, max: number): string {
  const isWithinPair = (text.codePointAt(max - 1) ?? 0) > 0xff_ff;
  return text.slice(0, isWithinPair ? max - 1 : max).toWellFormed();
}

/**
 * For each index of the text, how many of the characters there are those that `part` begins with. Takes time in
 * proportion to both lengths, whatever they repeat: the Z algorithm.
 */
export function commonLengths(part: string, text: string): Uint32Array {
  const both = part + text;
  const lengths = new Uint32Array(both.length);
  // From `from` to `end` the beginning of `both` stands once more, so what is known of that is known here.
  for (let i = 1, from = 0, end = 0; i < both.length; i++) {
    let length = i < end ? Math.min(lengths[i - from]!, end - i) : 0;
    while (length < part.length && both[length] === both[i + length]) length++;
    lengths[i] = length;
    if (i + length > end) [from, end] = [i, i + length];
  }
  return lengths.subarray(part.length);
}

/** A regular expression, for RE2 and for JavaScript, that matches only this text. */
export function escapedPattern(text: string): string {
  return text.replaceAll(/[.*+?()|[\]{}^$\\]/g, '\\$&');
}

/** A pattern that matches exactly these texts. */
export function anyOf(texts: readonly string[]): string {
  return texts.map(escapedPattern).join('|');
}

/** Whether a value from outside is an object with members, rather than null or a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
