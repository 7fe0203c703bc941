import { RE2JS } from 're2js';
import { errorText } from '../base/errors.ts';
import { compileOnce } from '../base/text/compile-pattern.ts';
import { refuseDearPattern } from '../base/text/pattern-cost.ts';

/**
 * Why a path rewrite cannot be used, or null: `pattern: …` when it is not an RE2 expression or costs more than
 * `maxPatternCost`, `replacement: …` when it names a group that the pattern does not have or has a `$` without a number.
 */
export function patternFault(pattern: string, replacement: string): string | null {
  const dear = refuseDearPattern(pattern);
  if (dear !== null) return `pattern: ${dear}`;
  let groups: number;
  try {
    groups = compileOnce(pattern).groupCount();
  } catch (error) {
    return `pattern: ${JSON.stringify(pattern)} is no RE2 expression: ${errorText(error)}`;
  }
  for (const [, group] of replacement.matchAll(/\$(\d+|.?)/gs)) {
    if (!/^\d+$/.test(group!))
      return `replacement: ${JSON.stringify(replacement)} has a $ that no group number follows`;
    if (Number(group) > groups) return `replacement: $${group} names a group that the pattern does not have`;
  }
  return null;
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
