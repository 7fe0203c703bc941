import { OperatorError } from '../../base/errors.ts';

/** An item of a list of maps, already serialised for one indentation. */
export class WrittenItem {
  readonly indent: string;
  readonly text: string;

  constructor(item: { readonly [key: string]: YamlValue | undefined }, indent: string) {
    this.indent = indent;
    this.text = listItem(item, indent);
  }
}

/** The values of an instrument file. Members that are `undefined` are left out. */
export type YamlValue =
  string | number | boolean | WrittenItem | readonly YamlValue[] | { readonly [key: string]: YamlValue | undefined };

/**
 * Writes a value as YAML in one fixed style: block maps in the given order, lists of scalars on one line. Every string
 * that YAML could read as another type is in double quotes with only ASCII inside.
 * Equal values built in equal order give equal bytes; no string can end its scalar early.
 * Errors: ERR_CAPTURE_INVALID on a lone surrogate, NaN or infinity, and on a `WrittenItem` of another indentation.
 */
export function emitYaml(value: { readonly [key: string]: YamlValue | undefined }): string {
  return blockMap(value, '').replace(/^\n/, '') + '\n';
}

function blockMap(map: { readonly [key: string]: YamlValue | undefined }, indent: string): string {
  let text = '';
  for (const [key, value] of Object.entries(map)) {
    if (value === undefined) continue;
    text += `\n${indent}${scalar(key)}:${child(value, indent)}`;
  }
  return text;
}

function child(value: YamlValue, indent: string): string {
  if (isList(value)) {
    if (value.every((item) => typeof item !== 'object')) return ` [${value.map(scalar).join(', ')}]`;
    return value.map((item) => `\n${indent}  - ${listItem(item, `${indent}    `)}`).join('');
  }
  if (typeof value === 'object' && !(value instanceof WrittenItem)) {
    return Object.values(value).some((v) => v !== undefined) ? blockMap(value, `${indent}  `) : ' {}';
  }
  return ` ${scalar(value)}`;
}

function listItem(item: YamlValue, indent: string): string {
  if (isList(item)) return child(item, indent).trimStart();
  if (item instanceof WrittenItem) {
    if (item.indent !== indent)
      throw new OperatorError('ERR_CAPTURE_INVALID', 'an entry was serialised for another indentation');
    return item.text;
  }
  if (typeof item !== 'object') return scalar(item);
  const text = blockMap(item, indent);
  return text === '' ? '{}' : text.slice(1 + indent.length);
}

function isList(value: YamlValue): value is readonly YamlValue[] {
  return Array.isArray(value);
}

/** Words that some YAML parser reads as a boolean, null or number. */
const reserved = /^(true|false|yes|no|on|off|y|n|null|nan|inf|infinity)$/i;
const plain = /^[A-Za-z][A-Za-z0-9_./-]*$/;

function scalar(value: YamlValue): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new OperatorError('ERR_CAPTURE_INVALID', `instrument file cannot hold ${value}`);
    return JSON.stringify(value);
  }
  const text = value as string;
  return plain.test(text) && !reserved.test(text) ? text : quote(text);
}

function quote(text: string): string {
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0)!;
    if (code >= 0xd800 && code <= 0xdfff) {
      throw new OperatorError('ERR_CAPTURE_INVALID', 'instrument file cannot hold half of a surrogate pair');
    }
    if (char === '"' || char === '\\') out += `\\${char}`;
    else if (code >= 0x20 && code < 0x7f) out += char;
    else if (code > 0xffff) out += `\\U${code.toString(16).padStart(8, '0')}`;
    else out += `\\u${code.toString(16).padStart(4, '0')}`;
  }
  return `${out}"`;
}
