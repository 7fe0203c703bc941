import type { LabelSelector } from '../../src/api/meta.ts';
import { refuses, type Case } from './case.ts';

const requirement = (key: string, operator: string, values?: string[]): LabelSelector =>
  ({ matchExpressions: [{ key, operator, ...(values ? { values } : {}) }] }) as LabelSelector;

/** Selectors that Kubernetes refuses, and what the refusal says. */
const selectors: readonly [what: string, selector: LabelSelector, says: RegExp][] = [
  ['In without values', requirement('a', 'In'), /In and NotIn need values/],
  ['In of no value', requirement('a', 'In', []), /In and NotIn need values/],
  ['NotIn without values', requirement('a', 'NotIn'), /In and NotIn need values/],
  ['Exists with a value', requirement('a', 'Exists', ['b']), /Exists and DoesNotExist take none/],
  ['DoesNotExist with a value', requirement('a', 'DoesNotExist', ['b']), /Exists and DoesNotExist take none/],
  ['a required name of 64 characters', requirement('a'.repeat(64), 'Exists'), /a label key is a name of at most 63/],
  ['a required value with a space', requirement('a', 'In', ['b c']), /a label value has letters/],
  ['a label name of 64 characters', { matchLabels: { ['a'.repeat(64)]: 'b' } }, /a label key is a name of at most 63/],
  ['a label prefix of 254 characters', { matchLabels: { [`${'a'.repeat(254)}/b`]: 'c' } }, /a label key is a name/],
  ['a label prefix with an empty part', { matchLabels: { 'a..b/c': 'd' } }, /a label key is a name/],
  ['a label prefix with a part that begins with a dash', { matchLabels: { 'a.-b/c': 'd' } }, /a label key is a name/],
  ['a required prefix with an empty part', requirement('a..b/c', 'Exists'), /a label key is a name/],
  ['a required prefix of 254 characters', requirement(`${'a'.repeat(254)}/b`, 'Exists'), /a label key is a name/],
  ['a label name with a space', { matchLabels: { 'a b': 'c' } }, /a label key is a name/],
  ['a label value with a space', { matchLabels: { a: 'b c' } }, /a label value has letters/],
];

/** A case for each of these selectors. `spec` puts a selector into its field. */
export const selectorRefusals = (where: string, spec: (selector: LabelSelector) => object): Case[] =>
  selectors.map(([what, selector, says]) => refuses(`${what}, ${where}`, spec(selector), says));
