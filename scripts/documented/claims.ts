import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A sentence of a document: its file, and the sentence. */
export type Sentence = readonly [document: string, sentence: RegExp];

/** A number of a document, and the line of the code that it comes from. */
export interface Claim {
  /** The document, and the sentence with the number in its first group. */
  readonly says: Sentence;
  /** The source, and the line with the number in its first group. */
  readonly is: readonly [source: string, line: RegExp];
  /** Units of the source in one unit of the document. Default 1. */
  readonly factor?: number;
}

export const root = join(import.meta.dirname, '../..');
export const second = 1_000;
export const MiB = 1024 * 1024;

/** The first group of the pattern in the file. Errors: throws if nothing in the file matches. */
export function find([file, pattern]: readonly [string, RegExp]): string {
  const found = pattern.exec(readFileSync(join(root, file), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${file} has nothing like ${pattern}`);
  return found;
}

/**
 * The numbers of a text: `50,000,000` and `50_000_000` are one number, `1.25` and the product `16 * 1024` are one, too; `80,443` and
 * `80, 443 and 8080` are lists.
 */
export function numbers(text: string): number[] {
  if (text.includes('*')) return [text.split('*').reduce((product, factor) => product * Number(factor), 1)];
  const whole =
    /^-?\d{1,3}([,_]\d{3})+$/.test(text) && !text.startsWith('80,443') ? text.replaceAll(/[,_]/g, '') : text;
  return (whole.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
}

/** A number with a unit. Not the digits of a name, such as UTF-8 or RFC 3339. */
const quantity =
  /(?<![-:\w.]|RFC )(\d[\d,.]*)(?:[ -])?(?:(?:ms|µs|s|h|MiB|MB|kB|GiB|seconds?|minutes?|hours?|days?|years?|times|million|samples|series|spans|bytes|nodes?|agents?|queries|requests|points)\b|%)/g;

/**
 * The quantities in the text of a document that no sentence claims. A sentence claims the quantities of its first
 * group, or all of its quantities if it has no group. Blocks and spans of code are not searched.
 */
export function unclaimed(file: string, sentences: readonly Sentence[]): string[] {
  // Code is blanked out, so that the rest keeps its offsets.
  const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
  const whole = readFileSync(join(root, file), 'utf8');
  const prose = whole
    .replaceAll(/^```[^]*?^```/gm, blank)
    .replaceAll(/^ {4}.*$/gm, blank)
    .replaceAll(/`[^`\n]*`/g, blank)
    .replaceAll(/\]\([^)]*\)/g, blank);
  const claimed = sentences
    .filter(([document]) => document === file)
    .flatMap(([, sentence]) => {
      const [all, group] = new RegExp(sentence, 'd').exec(whole)?.indices ?? [];
      const span = group ?? all;
      return span === undefined ? [] : [span];
    });
  return [...prose.matchAll(quantity)]
    .filter(({ 0: text, index }) => !claimed.some(([from, to]) => from < index + text.length && index < to))
    .map(([text, number], i) => `${text} (${i + 1}. ${number})`);
}
