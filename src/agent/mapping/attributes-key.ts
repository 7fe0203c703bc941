import { sha256Hex } from '../../base/canonical-json.ts';
import { keyPart } from '../../base/text/labels.ts';
import type { Attribute } from '../otlp/model.ts';
import { valueText } from './label-set.ts';

/** Longer keys are replaced by their hashes. Units: characters. */
const longestKey = 2_048;

const keys = new WeakMap<readonly Attribute[], string>();

/**
 * A text that is equal for equal attributes in any order, and never long: a sender may put anything into an attribute,
 * and the text may outlive the request by hours. A list keeps its text.
 */
export function attributesKey(attributes: readonly Attribute[]): string {
  let key = keys.get(attributes);
  if (key === undefined) {
    key = made(attributes);
    keys.set(attributes, key);
  }
  return key;
}

/** Built with `join`: with `+`, V8 would keep each step. */
function made(attributes: readonly Attribute[]): string {
  return boundedKey(
    sorted(attributes)
      .map(({ key, value }) => `${keyPart(key)}\x00${keyPart(valueText(value))}`)
      .join('\x00'),
  );
}

/** The text itself, or the hash of one that is too long to be remembered. */
export function boundedKey(text: string): string {
  return text.length > longestKey ? sha256Hex(text) : text;
}

function sorted(attributes: readonly Attribute[]): readonly Attribute[] {
  for (let i = 1; i < attributes.length; i++) {
    if (attributes[i - 1]!.key > attributes[i]!.key) {
      return attributes.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    }
  }
  return attributes;
}
