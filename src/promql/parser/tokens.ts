import type { Position } from '../errors.ts';
import { aggregators } from './ast.ts';

/** The kind of a token. Keywords, except the fill modifiers, are of the kind `keyword` even where they are names. */
export type TokenKind =
  | 'eof'
  | 'identifier'
  | 'metric'
  | 'string'
  | 'number'
  | 'duration'
  | 'aggregator'
  | 'keyword'
  | 'operator'
  | 'punctuation';

/** One token. `text` is the source text; `word` is its lower-case form, by which keywords are looked up. */
export interface Token extends Position {
  readonly kind: TokenKind;
  readonly text: string;
  readonly word: string;
}

export const aggregatorWords: ReadonlySet<string> = new Set(aggregators);

export const wordOperators: ReadonlySet<string> = new Set(['and', 'or', 'unless', 'atan2']);

/** Words with a meaning inside an expression, aside from aggregators and operators. */
export const keywords: ReadonlySet<string> = new Set([
  'offset',
  'smoothed',
  'anchored',
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
  'fill',
  'fill_left',
  'fill_right',
  'bool',
  'start',
  'end',
  'step',
  'range',
  'max_of',
  'min_of',
]);

/** Words with a meaning inside a range or subquery bracket. */
export const durationWords: ReadonlySet<string> = new Set(['step', 'range', 'max_of', 'min_of']);

/** Keywords that cannot be the name of a metric outside braces. */
const notMetricNames = new Set(['on', 'ignoring', 'group_left', 'group_right', 'bool', 'atan2']);

/** True for a token that may name a metric outside braces. */
export function canNameMetric(token: Token): boolean {
  if (token.kind === 'identifier' || token.kind === 'metric') return true;
  if (token.kind === 'aggregator' || token.kind === 'keyword') return !notMetricNames.has(token.word);
  return token.kind === 'operator' && wordOperators.has(token.word) && !notMetricNames.has(token.word);
}

/** True for a token that may name a label in a grouping. */
export function canNameLabel(token: Token): boolean {
  if (token.kind === 'identifier' || token.kind === 'metric' || token.kind === 'aggregator') return true;
  if (token.kind === 'keyword') return token.word !== 'without';
  return token.kind === 'operator' && wordOperators.has(token.word);
}

/** The description of a token in parse errors. */
export function describe(token: Token): string {
  switch (token.kind) {
    case 'eof':
      return 'end of input';
    case 'identifier':
      return `identifier ${JSON.stringify(token.text)}`;
    case 'metric':
      return `metric identifier ${JSON.stringify(token.text)}`;
    case 'keyword':
      return `<${token.text}>`;
    case 'aggregator':
      return `<aggr:${token.text}>`;
    case 'operator':
      return token.text === '=' ? '"="' : `<op:${token.text}>`;
    case 'punctuation':
      return JSON.stringify(token.text);
    default:
      return `${token.kind} ${shortened(token.text)}`;
  }
}

function shortened(text: string): string {
  return text.length > 10 ? `${JSON.stringify(text.slice(0, 10))}...` : JSON.stringify(text);
}
