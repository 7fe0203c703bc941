import type { Label, Labels } from './types.ts';

/** Labels of a result without labels. */
export const noLabels: Labels = [];

const nameLabel = '__name__';

/** Labels that describe the metric itself: dropped together when a function changes its meaning. */
const metadataLabels = new Set([nameLabel, '__type__', '__unit__']);

/** Orders strings by their UTF-8 bytes; JS compares UTF-16 units, which differs above U+FFFF. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return x >= 0xd800 && y >= 0xd800 ? surrogatesLast(x) - surrogatesLast(y) : x - y;
  }
  return a.length - b.length;
}

/** In UTF-8, U+E000…U+FFFF sort before the characters that UTF-16 encodes as surrogates. */
function surrogatesLast(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

/** Orders label sets pair by pair: name, then value; the shorter one first where all else is equal. */
export function compareLabels(a: Labels, b: Labels): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x === y) continue;
    const byName = compareStrings(x[0], y[0]);
    if (byName !== 0) return byName;
    const byValue = compareStrings(x[1], y[1]);
    if (byValue !== 0) return byValue;
  }
  return a.length - b.length;
}

/** The value of a label; "" when it is missing. */
export function labelValue(labels: Labels, name: string): string {
  for (const label of labels) if (label[0] === name) return label[1];
  return '';
}

/** The value of `__name__`, or "". */
export function metricName(labels: Labels): string {
  return labelValue(labels, nameLabel);
}

const needsEscape = /[\x00\x01]/;

function keyPart(text: string): string {
  return needsEscape.test(text) ? text.replaceAll('\x01', '\x011').replaceAll('\x00', '\x010') : text;
}

/** A string that is equal for equal label sets only. */
export function labelsKey(labels: Labels): string {
  let key = '';
  for (const label of labels) key += `${keyPart(label[0])}\x00${keyPart(label[1])}\x00`;
  return key;
}

/** The key of the labels that `keep` accepts. */
export function partialKey(labels: Labels, keep: (name: string) => boolean): string {
  let key = '';
  for (const label of labels) if (keep(label[0])) key += `${keyPart(label[0])}\x00${keyPart(label[1])}\x00`;
  return key;
}

/** The labels that `keep` accepts. */
export function filterLabels(labels: Labels, keep: (name: string) => boolean): Labels {
  return labels.filter((label) => keep(label[0]));
}

export function isMetadata(name: string): boolean {
  return metadataLabels.has(name);
}

/** Labels without the metric's name, type and unit. */
export function dropMetadata(labels: Labels): Labels {
  for (const label of labels) if (metadataLabels.has(label[0])) return labels.filter((l) => !metadataLabels.has(l[0]));
  return labels;
}

/** Labels with one of them set; an empty value removes it. */
export function setLabel(labels: Labels, name: string, value: string): Labels {
  const others = labels.filter((label) => label[0] !== name);
  if (value === '') return others;
  const at = others.findIndex((label) => compareStrings(label[0], name) > 0);
  const added: Label = [name, value];
  return at === -1 ? [...others, added] : [...others.slice(0, at), added, ...others.slice(at)];
}

/** Labels from name/value pairs in any order; empty values are left out. */
export function sortedLabels(pairs: Iterable<Label>): Labels {
  return [...pairs].filter(([, value]) => value !== '').sort((a, b) => compareStrings(a[0], b[0]));
}

/** Labels as messages show them: `{a="b", c="d"}`. */
export function labelsText(labels: Labels): string {
  return `{${labels.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(', ')}}`;
}
