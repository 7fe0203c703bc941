import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A fenced block of a guide: ```` ```language label ````. The label is a file of the project or the name of a step. */
export interface Block {
  readonly language: string;
  readonly label: string;
  readonly text: string;
}

/** The labelled blocks of a guide, in order. */
export async function blocksOf(guide: string): Promise<Block[]> {
  const text = await readFile(join(import.meta.dirname, '../../docs/guides', guide), 'utf8');
  return [...text.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)].map(([, language = '', label = '', body = '']) => ({
    language,
    label,
    text: body,
  }));
}

/**
 * A text after the change that a `diff` block shows: its lines begin with a space, `-` or `+`.
 * Errors: the lines before the change are not in the text exactly once.
 */
export function changed(text: string, diff: string): string {
  const lines = diff.trimEnd().split('\n');
  const side = (mark: string): string =>
    lines
      .filter((line) => line[0] === ' ' || line[0] === mark)
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  const parts = text.split(side('-'));
  if (parts.length !== 2)
    throw new Error(`the text has these lines ${parts.length - 1} times, not once:\n${side('-')}`);
  return parts.join(side('+'));
}
