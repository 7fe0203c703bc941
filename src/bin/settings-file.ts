import { readFileSync, statSync } from 'node:fs';
import { isScalar, parseDocument, visit } from 'yaml';
import { errorText, OperatorError } from '../base/errors.ts';
import { fileKeyOf, type SettingSources, type SettingTable } from '../base/settings.ts';

const maxBytes = 65_536;

/**
 * Reads a settings file: one flat YAML map whose keys are the flags without their dashes, `rate-limit-per-minute: 30`.
 * Errors: ERR_CONFIG_INVALID that names the file and the key, and repeats no value.
 */
export function readSettingsFile(path: string, table: SettingTable): NonNullable<SettingSources['file']> {
  const refuse = (problem: string): never => {
    throw new OperatorError('ERR_CONFIG_INVALID', `settings file ${path}: ${problem}`);
  };
  const document = parseDocument(readText(path, refuse), { schema: 'core', uniqueKeys: true });
  const [fault] = document.errors;
  if (fault) refuse(`line ${fault.linePos?.[0].line ?? '?'}: ${fault.code.toLowerCase().replaceAll('_', ' ')}`);
  visit(document, { Alias: () => refuse('aliases are not allowed') });
  const content: unknown = document.toJS() ?? {};
  if (typeof content !== 'object' || Array.isArray(content)) refuse('must be a map of settings');
  const keys = new Map(Object.keys(table).map((key) => [fileKeyOf(key), key]));
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(content as object)) {
    const key = keys.get(name);
    if (key === undefined) refuse(`${JSON.stringify(name)} is not a setting of this command; see --help`);
    else if (!['string', 'number', 'boolean'].includes(typeof value)) refuse(`${name} must be one plain value`);
    else {
      const node = document.get(name, true);
      // The text of a number is not always that of its value: `0123`, `1.10`.
      const written = isScalar(node) && typeof value === 'number' ? node.source! : String(value);
      // A setting that does not accept the text gets the number, as for `1e6` where a whole number is asked for.
      values[key] = accepts(table[key]!.parse, written) ? written : String(value);
    }
  }
  return { name: path, values };
}

function accepts(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

function readText(path: string, refuse: (problem: string) => never): string {
  try {
    if (statSync(path).size > maxBytes) refuse(`is larger than ${maxBytes} bytes`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    return refuse(`cannot be read: ${errorText(error)}`);
  }
}
