import { hash } from 'node:crypto';
import type { Label, Labels } from './types.ts';
import { compareUtf8 as compareStrings, keyPart, labelValue } from '../base/text/labels.ts';

export { compareLabels, compareUtf8 as compareStrings, labelValue } from '../base/text/labels.ts';

/** Labels of a result without labels. */
export const noLabels: Labels = [];

const nameLabel = '__name__';

/** Labels that describe the metric itself: all are dropped when a function changes the meaning of its values. */
const metadataLabels = new Set([nameLabel, '__type__', '__unit__']);

/** The value of `__name__`, or "". */
export function metricName(labels: Labels): string {
  return labelValue(labels, nameLabel);
}

/**
 * The longest key that is made of the labels' texts themselves. Series may share one long text, while each has a key of
 * its own, which no budget counts. Units: characters.
 */
const longestKey = 1_024;

/** The key itself, or a digest of a long one: it has no \x00, unlike every other key that is not empty. */
function boundedKey(key: string): string {
  return key.length <= longestKey ? key : hash('sha256', Buffer.from(key, 'utf16le'), 'base64');
}

/** A string that is equal for equal label sets only: its texts, or their SHA-256 where they are long. */
export function labelsKey(labels: Labels): string {
  let key = '';
  for (const label of labels) key += `${keyPart(label[0])}\x00${keyPart(label[1])}\x00`;
  return boundedKey(key);
}

/** The key of the labels that `keep` accepts. */
export function partialKey(labels: Labels, keep: (name: string) => boolean): string {
  let key = '';
  for (const label of labels) if (keep(label[0])) key += `${keyPart(label[0])}\x00${keyPart(label[1])}\x00`;
  return boundedKey(key);
}

/** The characters of all names and values. */
export function textLength(labels: Labels): number {
  let length = 0;
  for (const [name, value] of labels) length += name.length + value.length;
  return length;
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

/** The labels after one of them was set; an empty value removes the label. */
export function setLabel(labels: Labels, name: string, value: string): Labels {
  const others = labels.filter((label) => label[0] !== name);
  if (value === '') return others;
  const at = others.findIndex((label) => compareStrings(label[0], name) > 0);
  const added: Label = [name, value];
  return at === -1 ? [...others, added] : [...others.slice(0, at), added, ...others.slice(at)];
}

/** All labels of two sorted lists that have no name in common. */
export function mergedLabels(a: Labels, b: Labels): Labels {
  const all: Label[] = [];
  let next = 0;
  for (const label of b) {
    while (next < a.length && compareStrings(a[next]![0], label[0]) < 0) all.push(a[next++]!);
    all.push(label);
  }
  while (next < a.length) all.push(a[next++]!);
  return all;
}

/** Labels from name/value pairs in any order; empty values are left out. */
export function sortedLabels(pairs: Iterable<Label>): Labels {
  return [...pairs].filter(([, value]) => value !== '').sort((a, b) => compareStrings(a[0], b[0]));
}

/** Labels as messages show them: `{a="b", c="d"}`. */
export function labelsText(labels: Labels): string {
  return `{${labels.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(', ')}}`;
}
