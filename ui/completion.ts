/** What could be written at a place in an expression. Pure: no page, no requests. */
import { functionTable } from '../src/promql/parser/functions.ts';
import { aggregators, keywords, wordOperators } from '../src/promql/parser/tokens.ts';

/** What belongs at the cursor. `from` is where the half-written word begins, `word` what there is of it. */
export type Place = { readonly from: number; readonly word: string } & (
  | { readonly kind: 'name' }
  /** A label in a selector or a grouping; of the metric, if one is known. */
  | { readonly kind: 'label'; readonly metric: string | undefined }
  /** Inside the quotes of a matcher. */
  | { readonly kind: 'value'; readonly metric: string | undefined; readonly label: string; readonly quote: string }
);

/** One thing to choose. `insert` replaces the half-written word; `what` says what it is. */
export interface Choice {
  readonly text: string;
  readonly what: string;
  readonly insert: string;
}

const groupings = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const token =
  /#[^\n]*|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|`[^`]*`?|\d[\w.]*|[\p{L}_:][\p{L}\p{N}_:]*|=~|!~|!=|[^\s]/gu;

interface Bracket {
  readonly open: string;
  /** The metric before a brace; undefined elsewhere. */
  readonly metric: string | undefined;
}

/** What belongs at `cursor`; undefined where nothing can be told, as in numbers, durations and comments. */
export function placeAt(text: string, cursor: number): Place | undefined {
  const stack: Bracket[] = [];
  let before = '';
  let label = '';
  for (const { 0: word, index: start } of text.matchAll(token)) {
    const end = start + word.length;
    if (start >= cursor) break;
    const top = stack.at(-1)?.open;
    if (end > cursor || (end === cursor && isOpen(word))) {
      const written = text.slice(start, cursor);
      return wordAt(written, start, { text, top: stack.at(-1), before, label });
    }
    if (word === '(') stack.push({ open: groupings.has(before.toLowerCase()) ? 'grouping' : '(', metric: undefined });
    else if (word === '{') stack.push({ open: '{', metric: isMetric(before) ? before : undefined });
    else if (word === '[') stack.push({ open: '[', metric: undefined });
    else if (/^[)\]}]$/.test(word)) stack.pop();
    else if (/^(=|!=|=~|!~)$/.test(word) && top === '{') label = before;
    before = word;
  }
  return wordAt('', cursor, { text, top: stack.at(-1), before, label });
}

/** Whether a token that ends at the cursor may still go on: a word, or a string without its end. */
function isOpen(word: string): boolean {
  if (/^["'`]/.test(word)) return word.length === 1 || word.at(-1) !== word[0] || /(^|[^\\])(\\\\)*\\.$/.test(word);
  return /^[\w\p{L}:#]/u.test(word);
}

interface Around {
  readonly text: string;
  readonly top: Bracket | undefined;
  readonly before: string;
  /** The label of the matcher that the cursor is in. */
  readonly label: string;
}

function wordAt(written: string, from: number, { text, top, before, label }: Around): Place | undefined {
  if (/^[\d#]/.test(written) || top?.open === '[') return undefined;
  const metric = top?.metric;
  const isValue = top?.open === '{' && /^(=|!=|=~|!~)$/.test(before);
  if (/^["'`]/.test(written)) {
    const quote = written[0]!;
    return isValue ? { kind: 'value', from: from + 1, word: written.slice(1), label, metric, quote } : undefined;
  }
  if (isValue) return undefined;
  if (top?.open === '{') return { kind: 'label', from, word: written, metric };
  if (top?.open === 'grouping') return { kind: 'label', from, word: written, metric: firstMetric(text) };
  return { kind: 'name', from, word: written };
}

const isMetric = (word: string): boolean =>
  /^[\p{L}_:]/u.test(word) &&
  !functionTable.has(word) &&
  ![aggregators, keywords, wordOperators].some((set) => set.has(word.toLowerCase()));

/** The metric that a grouping is most likely about: the first that stands in the expression, outside all braces. */
function firstMetric(text: string): string | undefined {
  const stack: string[] = [];
  let before = '';
  for (const [word] of text.matchAll(token)) {
    if (word === '(') stack.push(groupings.has(before.toLowerCase()) ? 'grouping' : '(');
    else if (word === '{' || word === '[') stack.push(word);
    else if (/^[)\]}]$/.test(word)) stack.pop();
    else if (isMetric(word) && stack.every((open) => open === '(')) return word;
    before = word;
  }
  return undefined;
}

/** Everything of the language that may stand where a metric may. */
export const languageChoices: readonly Choice[] = [
  ...[...aggregators].map((text) => ({ text, what: 'aggregation', insert: `${text}(` })),
  ...[...functionTable.values()].map(({ name, experimental }) => ({
    text: name,
    what: experimental ? 'function, experimental' : 'function',
    insert: `${name}(`,
  })),
  ...[...groupings].map((text) => ({ text, what: 'keyword', insert: `${text} (` })),
  ...[...wordOperators, 'offset', 'bool'].map((text) => ({ text, what: 'keyword', insert: `${text} ` })),
];

const plain = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const plainLabel = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** A name, label or value of the data as a choice, written as it must be at that place. */
export function dataChoice(place: Place, text: string): Choice {
  if (place.kind === 'name')
    return { text, what: 'metric', insert: plain.test(text) ? text : `{${JSON.stringify(text)}}` };
  if (place.kind === 'label')
    return { text, what: 'label', insert: plainLabel.test(text) ? text : JSON.stringify(text) };
  const { quote } = place;
  const escaped =
    quote === '`' ? text : text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll(quote, `\\${quote}`);
  return { text, what: 'value', insert: `${escaped}${quote}` };
}

/** Most choices that are shown. */
const shown = 30;

/** Those that begin with the word, then those that contain it, without case; none for a word that is written out. */
export function matching(choices: readonly Choice[], word: string): Choice[] {
  const wanted = word.toLowerCase();
  const rank = ({ text }: Choice): number => text.toLowerCase().indexOf(wanted);
  const found = choices.filter((choice) => rank(choice) >= 0);
  if (found.length === 1 && found[0]!.text === word) return [];
  return found.sort((a, b) => Math.sign(rank(a)) - Math.sign(rank(b))).slice(0, shown);
}
