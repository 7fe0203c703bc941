import { RE2JS } from 're2js';
import { errorText } from '../base/errors.ts';
import { refuseDearPattern } from '../base/text/pattern-cost.ts';

/** The most patterns of each cost whose verdicts are kept: 32 of each of 64 policies. */
const mostKnown = 2_048;
/** For each pattern the number of its groups, or why it cannot be compiled. The least recently used comes first. */
type Verdicts = Map<string, number | string>;
const cheap: Verdicts = new Map();
/** Reviews of any caller fill `cheap`, so these have their own map: a dear pattern takes up to 0.1 s to compile. */
const dear: Verdicts = new Map();

/**
 * Why a path rewrite cannot be used, or null: `pattern: …` when it is not an RE2 expression, `replacement: …` when it
 * names a group that the pattern does not have or has a `$` without a number. Each pattern is compiled once, because
 * policies are judged again with every change. The cost of a pattern is not judged here.
 */
export function patternFault(pattern: string, replacement: string): string | null {
  const groups = groupsOf(pattern);
  if (typeof groups === 'string') return `pattern: ${groups}`;
  for (const [, group] of replacement.matchAll(/\$(\d+|.?)/gs)) {
    if (!/^\d+$/.test(group!))
      return `replacement: ${JSON.stringify(replacement)} has a $ that no group number follows`;
    if (Number(group) > groups) return `replacement: $${group} names a group that the pattern does not have`;
  }
  return null;
}

function groupsOf(pattern: string): number | string {
  const verdicts = refuseDearPattern(pattern) === null ? cheap : dear;
  const groups = verdicts.get(pattern) ?? compiledGroups(pattern);
  verdicts.delete(pattern);
  verdicts.set(pattern, groups);
  if (verdicts.size > mostKnown) verdicts.delete(verdicts.keys().next().value!);
  return groups;
}

function compiledGroups(pattern: string): number | string {
  try {
    return RE2JS.compile(pattern).groupCount();
  } catch (error) {
    return `${JSON.stringify(pattern)} is no RE2 expression: ${errorText(error)}`;
  }
}

/**
 * Makes the function that carries out a path rewrite. RE2 takes time linear in the text, so no pattern can stall the
 * agent.
 */
export function pathRewriter(pattern: string, replacement: string): (path: string) => string {
  const regex = RE2JS.compile(pattern);
  const parts = replacement.split(/\$(\d+)/);
  return (path) => {
    const matcher = regex.matcher(path);
    let out = '';
    let at = 0;
    while (matcher.find()) {
      out += path.slice(at, matcher.start());
      out += parts.map((part, i) => (i % 2 === 0 ? part : (matcher.group(Number(part)) ?? ''))).join('');
      at = matcher.end();
    }
    return at === 0 && out === '' ? path : out + path.slice(at);
  };
}
