import { patternCost } from '../../../base/text/pattern-cost.ts';
import { regexShape, shapeTest } from '../../../base/text/regex-shape.ts';
import { readReplacement, type Groups, type Match } from '../../../base/text/replacement.ts';
import { QueryError, executionError } from '../../errors.ts';
import { queryLimits } from '../../limits.ts';
import { checkPattern, compileWithin, type LimitedPattern } from '../../matching/pattern.ts';
import { labelValue, setLabel } from '../../labels.ts';
import { labelsWithin } from '../made-labels.ts';
import { isValidName } from '../../parser/strings.ts';
import { sampleBytes } from '../budget.ts';
import { mergeDuplicates, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';

/** Relabelling one series costs as much as this many samples. */
const relabelWork = 100;
/** Memory of a series' own label, without its text, as the budget counts it: in samples. */
const labelWeight = 4;

/** Filling in one reference of a replacement costs as much as this many samples. */
const referenceWork = 15;

/** label_replace(v, dst, replacement, src, regex): sets dst when the regex matches the whole value of src. */
export async function labelReplace(
  context: EvalContext,
  columns: readonly Column[],
  texts: readonly string[],
): Promise<Column[]> {
  const { budget } = context;
  const [target, replacement, source, pattern] = texts as [string, string, string, string];
  const matching = compileReplaced(pattern);
  if (!isValidName(target)) throw executionError(`invalid destination label name in label_replace(): ${target}`);
  const references = referencesWithin(replacement);
  const expand = parseTemplate(replacement, matching);
  const known = new Map<string, string | null>();
  const replaced: Column[] = [];
  // The time of a match depends on pattern and value; the most expensive match takes a whole slice of the event loop.
  const matchWork = relabelWork + patternCost(pattern).match;
  for (const column of columns) {
    const value = labelValue(column.labels, source);
    let text = known.get(value);
    if (text === undefined) {
      known.set(value, (text = expand(value)));
      budget.hold(Math.ceil(((text?.length ?? 0) + value.length) / sampleBytes));
      if (budget.spend(matchWork * (1 + value.length / 64) + referenceWork * references)) await budget.turn();
    }
    if (text !== null) budget.hold(labelWeight);
    replaced.push(text === null ? column : relabelled(column, target, text));
    if (budget.spend(relabelWork)) await budget.turn();
  }
  return mergeDuplicates(budget, replaced);
}

/**
 * The number of references in a replacement; `$$` is one. Errors: `execution` for more than a label value may have
 * characters: each takes time, even if it is empty.
 */
function referencesWithin(replacement: string): number {
  let references = 0;
  let at = replacement.indexOf('$');
  for (; at >= 0; at = replacement.indexOf('$', replacement[at + 1] === '$' ? at + 2 : at + 1)) references++;
  if (references <= queryLimits.labelLength) return references;
  throw executionError(`replacement with ${references} references ($), at most ${queryLimits.labelLength}`);
}

interface WholeMatching {
  readonly groups: Groups;
  /** The match of a whole value, or null. */
  readonly match: (value: string) => Match | null;
}

/** Errors: `execution` for a pattern that is invalid or too expensive. */
function compileReplaced(pattern: string): WholeMatching {
  const shape = regexShape(pattern);
  if (shape.kind !== 'other') {
    // Such a pattern has at most one group, which has no name and is around all of it.
    const count = pattern.startsWith('(') && !pattern.startsWith('(?:') ? 1 : 0;
    const test = shapeTest(shape);
    const groups = { namedGroups: () => ({}), groupCount: () => count };
    return { groups, match: (value) => (test(value) ? { group: () => value } : null) };
  }
  const { regex, allow } = compileEngine(pattern);
  const match = (value: string): Match | null => {
    allow(value);
    const matcher = regex.matcher(value);
    return matcher.matches() ? matcher : null;
  };
  return { groups: regex, match };
}

function compileEngine(pattern: string): LimitedPattern {
  try {
    // The pattern is checked alone first: the group that is put around it could balance an unbalanced pattern.
    if (checkPattern(pattern) === null) return compileWithin(pattern, `^(?s:${pattern})$`);
  } catch (error) {
    if (error instanceof QueryError) throw error;
  }
  throw executionError(`invalid regular expression in label_replace(): ${pattern}`);
}

/** label_join(v, dst, separator, src…): sets dst to the joined values. */
export async function labelJoin(
  context: EvalContext,
  columns: readonly Column[],
  texts: readonly string[],
): Promise<Column[]> {
  const { budget } = context;
  const [target, separator, ...sources] = texts as [string, string, ...string[]];
  for (const source of sources) {
    if (!isValidName(source)) throw executionError(`invalid source label name in label_join(): ${source}`);
  }
  if (!isValidName(target)) throw executionError(`invalid destination label name in label_join(): ${target}`);
  const joined: Column[] = [];
  for (const column of columns) {
    const values = sources.map((source) => labelValue(column.labels, source));
    const text = joinedWithin(values, separator);
    budget.hold(labelWeight + Math.ceil(text.length / sampleBytes));
    joined.push(relabelled(column, target, text));
    if (budget.spend(relabelWork * (1 + sources.length))) await budget.turn();
  }
  return mergeDuplicates(budget, joined);
}

/** Joins parts to one label value. Errors: `execution` for a value that would be too long, before it is built. */
function joinedWithin(parts: readonly string[], separator: string): string {
  let length = separator.length * Math.max(0, parts.length - 1);
  for (const part of parts) length += part.length;
  if (length > queryLimits.labelLength) {
    throw executionError(`label value of ${length} characters, at most ${queryLimits.labelLength}`);
  }
  return parts.join(separator);
}

function relabelled(column: Column, name: string, value: string): Column {
  const dropName = name === '__name__' ? false : column.dropName;
  return { ...column, labels: labelsWithin(setLabel(column.labels, name, value)), dropName };
}

/**
 * A function that expands a replacement for a value. It gives null for a value that the pattern does not match as a
 * whole.
 */
function parseTemplate(template: string, { groups, match }: WholeMatching): (value: string) => string | null {
  const expand = readReplacement(template, groups);
  return (value) => {
    const found = match(value);
    return found && joinedWithin(expand(found), '');
  };
}
