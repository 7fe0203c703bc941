import { cidrPattern, hostPortPattern } from '../../../base/text/address-patterns.ts';
import { namingLabelFault, namingLabels } from '../../../api/v1alpha1/index.ts';

/**
 * Which characters may appear in a string that reaches the instrument's file. The instrument expands `${…}` and `$(…)`
 * from its own environment and reads selector values as globs, so these checks refuse every character that could widen
 * a match or break out of the string.
 * Each returns the fault, or null.
 */
export type TextCheck = (text: string) => string | null;

const cidr = new RegExp(cidrPattern);
const hostPort = new RegExp(hostPortPattern);

/** A text that the instrument must take literally: no glob operator, nothing that expands, no control character. */
export const literalText: TextCheck = (text) =>
  controls.test(text)
    ? 'must not contain control characters'
    : /[${}[\]!\\,*?]/.test(text)
      ? 'must not contain any of $ { } [ ] ! \\ , * ?'
      : loneSurrogate(text);

/** An address range. */
export const cidrText: TextCheck = (text) =>
  cidr.test(text) ? null : 'is no address range such as 10.0.0.0/8 or fd00::/8';

export const hostPortText: TextCheck = (text) => (hostPort.test(text) ? null : 'is not host:port');

/** A glob field: only `*` and `?` have a meaning. */
export const globText: TextCheck = (text) =>
  /^[A-Za-z0-9._*?-]+$/.test(text) ? null : 'may contain only letters, digits, . _ - and the wildcards * ?';

/** A path glob of executables. */
export const pathGlobText: TextCheck = (text) =>
  /^[A-Za-z0-9._*?/-]+$/.test(text) ? null : 'may contain only letters, digits, . _ - / and the wildcards * ?';

/** A route pattern: braces are its own syntax and stay balanced around a plain name. */
export const routeText: TextCheck = (text) => {
  if (controls.test(text)) return 'must not contain control characters';
  if (!/^\/[^\s$!,[\]\\?]*$/.test(text)) return 'must start with / and contain no space and none of $ ! , [ ] \\ ?';
  const rest = text.replace(/\{[A-Za-z0-9_.:-]+\}/g, '');
  return /[{}]/.test(rest) ? 'must use braces only around a parameter name, as in /users/{id}' : loneSurrogate(text);
};

/** Kubernetes label key: an optional DNS prefix and a name. */
export const labelKeyText: TextCheck = (text) => {
  const [name, prefix, ...more] = text.split('/').toReversed();
  const prefixOk = prefix === undefined || (prefix.length <= 253 && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(prefix));
  const nameOk = name !== undefined && name.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name);
  return more.length === 0 && prefixOk && nameOk ? null : 'is not a Kubernetes label key';
};

/**
 * Kubernetes label value. Kubernetes allows the empty value, but as a glob it cannot be distinguished from an absent
 * label.
 */
export const labelValueText: TextCheck = (text) => {
  if (text === '') return 'is empty, which the instrument cannot select';
  return text.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(text)
    ? null
    : 'is not a Kubernetes label value';
};

/** A label that may be left out of a series. */
export const droppableText: TextCheck = (text) => (namingLabels.includes(text) ? namingLabelFault : null);

/** The name of an HTTP header, as the API allows it. */
export const headerText: TextCheck = (text) =>
  /^[A-Za-z0-9_-]{1,64}$/.test(text) ? null : 'is not the name of a header';

const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;

function loneSurrogate(text: string): string | null {
  return text.isWellFormed() ? null : 'is not well-formed text';
}

/**
 * A text that agents of version 0.1.0 take. They count UTF-16 code units where the API server counts characters, and
 * refuse the whole config for one that is too long.
 */
export const withinUnits =
  (most: number): TextCheck =>
  (text) =>
    text.length > most ? `has ${text.length} UTF-16 code units, and agents of version 0.1.0 take ${most}` : null;

/** The fault of a text that a check refuses; null for an absent one. */
export function oneTextFault(field: string, value: string | undefined, check: TextCheck): string | null {
  const wrong = value === undefined ? null : check(value);
  return wrong && `${field}: ${JSON.stringify(value!.slice(0, 80))} ${wrong}`;
}

/** The fault of the first text of a list that a check refuses, with its place; null when there is none. */
export function textFault(
  field: string,
  values: readonly string[] | undefined,
  check: TextCheck,
  member = '',
): string | null {
  for (const [i, value] of (values ?? []).entries()) {
    const wrong = check(value);
    if (wrong) return `${field}[${i}]${member}: ${JSON.stringify(value.slice(0, 80))} ${wrong}`;
  }
  return null;
}
