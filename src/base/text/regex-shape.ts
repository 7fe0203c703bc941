/** The simple form of a regular expression that can be evaluated without an engine. */
export type RegexShape =
  /** The alternatives, each once. */
  | { readonly kind: 'literals'; readonly literals: readonly string[] }
  /** `prefix` followed by at least `minRest` (0 or 1) characters of any kind. */
  | { readonly kind: 'prefix'; readonly prefix: string; readonly minRest: 0 | 1 }
  | { readonly kind: 'other' };

const other: RegexShape = { kind: 'other' };
const meta = /[\\.+*?()|[\]{}^$]/;

/**
 * Recognises `a|b|c` (also inside one group) and `literal.*` / `literal.+` in an anchored expression whose dot matches
 * newline. Every expression that is not certainly one of these is `other`; the recognised ones are valid.
 */
export function regexShape(source: string): RegexShape {
  const tail = /^(.*)\.([*+])$/su.exec(source);
  if (tail) {
    const prefix = literal(tail[1]!);
    return prefix === undefined ? other : { kind: 'prefix', prefix, minRest: tail[2] === '+' ? 1 : 0 };
  }
  const literals = new Set<string>();
  for (const part of unwrap(source).split('|')) {
    const text = literal(part);
    if (text === undefined) return other;
    literals.add(text);
  }
  return { kind: 'literals', literals: [...literals] };
}

/** The test of an expression that needs no regex engine. */
export function shapeTest(shape: Exclude<RegexShape, { kind: 'other' }>): (text: string) => boolean {
  if (shape.kind === 'prefix') {
    const { prefix, minRest } = shape;
    return (text) => text.length >= prefix.length + minRest && text.startsWith(prefix);
  }
  const set = new Set(shape.literals);
  return (text) => set.has(text);
}

/** A test that keeps its answers for the first `most` texts, in `known`. */
export function rememberedTest(
  test: (text: string) => boolean,
  most: number,
  known = new Map<string, boolean>(),
): (text: string) => boolean {
  return (text) => {
    let answer = known.get(text);
    if (answer === undefined) {
      answer = test(text);
      if (known.size < most) known.set(text, answer);
    }
    return answer;
  };
}

/** Removes one pair of parentheses around the whole expression, if it contains no other group, no escape and no `?`. */
function unwrap(source: string): string {
  const inner = /^\((?:\?:)?([^()\\?]*)\)$/su.exec(source);
  return inner ? inner[1]! : source;
}

/** The literal text of the expression, or undefined when it has any operator. */
function literal(source: string): string | undefined {
  // Lists of a thousand namespaces are common, and hardly ever have an escape.
  if (!meta.test(source)) return source;
  let text = '';
  for (let i = 0; i < source.length; i++) {
    const c = source[i]!;
    if (c === '\\') {
      const escaped = source[++i];
      if (escaped === undefined || !meta.test(escaped)) return undefined;
      text += escaped;
    } else if (meta.test(c)) return undefined;
    else text += c;
  }
  return text;
}
