import type { RE2JS } from 're2js';

/** A match of a pattern of RE2. */
type Match = ReturnType<RE2JS['matcher']>;

/** What Go takes for the number of a group. A longer run of digits, or one with zeros in front, is a name. */
const isNumber = /^(?:0|[1-9]\d{0,8})$/;

/**
 * Reads a replacement as Go expands it: `$name` takes the longest run of word characters, `${name}` is explicit, `$$` is
 * a dollar; an unknown or unmatched group is empty, a malformed reference stays as it is.
 * The returned function gives the parts of the text for a match of `regex`.
 */
export function readReplacement(replacement: string, regex: RE2JS): (match: Match) => string[] {
  const parts: (string | { group: number })[] = [];
  const names = regex.namedGroups() as Record<string, number>;
  const reference = /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu;
  let last = 0;
  for (const found of replacement.matchAll(reference)) {
    parts.push(replacement.slice(last, found.index));
    last = found.index + found[0].length;
    const name = found[1] ?? found[2];
    if (name === undefined) parts.push('$');
    else parts.push({ group: isNumber.test(name) ? Number(name) : (names[name] ?? -1) });
  }
  parts.push(replacement.slice(last));
  return (match) => {
    const count = match.groupCount();
    return parts.map((part) => {
      if (typeof part === 'string') return part;
      return part.group < 0 || part.group > count ? '' : (match.group(part.group) ?? '');
    });
  };
}
