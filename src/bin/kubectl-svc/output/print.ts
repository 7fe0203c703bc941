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

/** A value in the format of `-o`; `text` writes it for readers. */
export async function printed(format: string, value: unknown, text: () => string): Promise<string> {
  if (format === 'json') return json(value);
  return format === 'yaml' ? yaml(value) : text();
}

/** The format that `-o` names. Errors: UsageError that lists the formats. */
export function outputFormat<T extends string>(text: string, formats: readonly T[]): T {
  const found = formats.find((format) => format === text);
  if (found === undefined) throw new UsageError(`-o ${JSON.stringify(text)} is none of ${formats.join(', ')}`);
  return found;
}
