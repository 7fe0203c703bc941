import { Option } from 'commander';
import { UsageError } from '../errors.ts';

/** `-o json`, indented as kubectl does. Ends with a newline. */
export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 4)}\n`;
}

/** `-o yaml`. */
async function yaml(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** A value in the format of `-o`; `text` renders it for people. */
export async function printed(format: string, value: unknown, text: () => string): Promise<string> {
  if (format === 'json') return json(value);
  return format === 'yaml' ? yaml(value) : text();
}

/** The option `-o`, which chooses among the formats of a command. */
export function outputOption(help: string, formats: readonly string[]): Option {
  const option = new Option('-o, --output <format>', help).choices(formats);
  return option.argParser((text: string) => chosen('-o', text, formats));
}

/** The choice that a flag names. Errors: UsageError that lists the choices. */
export function chosen(flag: string, text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text;
  throw new UsageError(`${flag} ${JSON.stringify(text)} is none of ${choices.join(', ')}`);
}
