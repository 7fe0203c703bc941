import type { RE2JS } from 're2js';

/** What a replacement needs of a match: the texts of its groups. */
export type Match = Pick<ReturnType<RE2JS['matcher']>, 'group'>;

/** What a replacement needs of a pattern: the names and the number of its groups. */
export type Groups = Pick<RE2JS, 'namedGroups' | 'groupCount'>;

/** What Go takes for the number of a group. A longer run of digits, or one with zeros in front, is a name. */
const isNumber = /^(?:0|[1-9]\d{0,8})$/;

/**
 * Reads a replacement as Go expands it: `$name` takes the longest run of word characters, `${name}` is explicit, `$$` is
 * a dollar; an unknown or unmatched group is empty, a malformed reference stays as it is.
 * The returned function gives the parts of the text for a match of `regex`, without those that are always empty.
 */
export function readReplacement(replacement: string, regex: Groups): (match: Match) => string[] {
  const parts: (string | { group: number })[] = [];
  const names = regex.namedGroups() as Record<string, number>;
  const reference = /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu;
  const add = (text: string): void => void (text !== '' && parts.push(text));
  let last = 0;
  for (const found of replacement.matchAll(reference)) {
    add(replacement.slice(last, found.index));
    last = found.index + found[0].length;
    const name = found[1] ?? found[2];
    const group = name === undefined ? -1 : isNumber.test(name) ? Number(name) : (names[name] ?? -1);
    if (name === undefined) add('$');
    else if (group >= 0 && group <= regex.groupCount()) parts.push({ group });
  }
  add(replacement.slice(last));
  return (match) => parts.map((part) => (typeof part === 'string' ? part : (match.group(part.group) ?? '')));
}
