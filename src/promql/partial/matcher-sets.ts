import { agentBounds, PatternLimits } from '../../base/text/pattern-limits.ts';
import type { Matcher } from '../types.ts';
import type { Fields } from './fields.ts';

const matchTypes: readonly unknown[] = ['=', '!=', '=~', '!~'];
/** The most selectors in one request. */
const maxSets = 10_000;
/** The most matchers in one selector of a request. */
export const maxSetMatchers = 200;

/** Selectors as they are sent in JSON: of each matcher only the fields that define it. */
export function plainSets(sets: readonly (readonly Matcher[])[]): Matcher[][] {
  return sets.map((set) => set.map(({ type, name, value }) => ({ type, name, value })));
}

/**
 * Reads the member `name` of a request, a list of selectors. Errors: ERR_INPUT_INVALID that names the field, also for
 * more regular expressions than one request may have.
 */
export function readMatcherSets(fields: Fields, name: string): Matcher[][] {
  const sets = fields.own(name);
  if (!Array.isArray(sets) || sets.length === 0 || sets.length > maxSets)
    throw fields.invalid(name, `is not a list of 1 to ${maxSets} selectors`);
  const patterns = new PatternLimits(agentBounds);
  return sets.map((set: unknown, i) => {
    if (!Array.isArray(set) || set.length > maxSetMatchers)
      throw fields.invalid(`${name}[${i}]`, `is not a list of at most ${maxSetMatchers} matchers`);
    return set.map((one: unknown, k) => {
      const matcher = matcherOf(one, fields, `${name}[${i}][${k}]`);
      const refusal = matcher.type.endsWith('~') ? patterns.add(matcher.value) : null;
      if (refusal !== null) throw fields.invalid(name, `is too large: ${refusal}`);
      return matcher;
    });
  });
}

function matcherOf(one: unknown, fields: Fields, field: string): Matcher {
  const { type, name, value } = (one ?? {}) as Record<string, unknown>;
  if (!matchTypes.includes(type)) throw fields.invalid(`${field}.type`, 'is none of = != =~ !~');
  // As in Prometheus, the name may be empty: no series has such a label.
  if (typeof name !== 'string') throw fields.invalid(`${field}.name`, 'is no label name');
  if (typeof value !== 'string') throw fields.invalid(`${field}.value`, 'is no text');
  return { type: type as Matcher['type'], name, value };
}
