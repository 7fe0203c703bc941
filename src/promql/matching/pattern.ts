import { RE2JS } from 're2js';

/** Full-match test of one pattern. */
export type PatternTest = (value: string) => boolean;

const isLiteral = (text: string): boolean => !/[\\^$.|?*+()[\]{}]/.test(text);

/** The reason RE2 refuses a pattern, in Go's words, or null where it is fine. */
export function checkPattern(pattern: string): string | null {
  try {
    // Without DOTALL: the flag changes no verdict, but would show up in the message.
    RE2JS.compile(pattern);
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.startsWith('error parsing regexp') ? message : `error parsing regexp: ${message}`;
  }
}

/**
 * Compiles a pattern with RE2 semantics: linear time, anchored at both ends, dot matches newline.
 * Literals and alternatives of literals are compared directly; other answers are remembered per value.
 * Errors: throws where `checkPattern` gives a reason.
 */
export function compilePattern(pattern: string): PatternTest {
  if (pattern === '.*') return () => true;
  if (pattern === '.+') return (value) => value !== '';
  if (isLiteral(pattern)) return (value) => value === pattern;
  const alternatives = pattern.split('|');
  if (alternatives.every(isLiteral)) {
    const set = new Set(alternatives);
    return (value) => set.has(value);
  }
  const inner = pattern.slice(0, -2);
  if (pattern.endsWith('.*') && isLiteral(inner)) return (value) => value.startsWith(inner);
  if (pattern.endsWith('.+') && isLiteral(inner)) {
    return (value) => value.length > inner.length && value.startsWith(inner);
  }
  const compiled = RE2JS.compile(pattern, RE2JS.DOTALL);
  const known = new Map<string, boolean>();
  return (value) => {
    let answer = known.get(value);
    if (answer === undefined) {
      answer = compiled.matches(value);
      if (known.size < 10_000) known.set(value, answer);
    }
    return answer;
  };
}
