import type { Position } from '../errors.ts';
import { checkPattern } from '../matching/pattern.ts';
import type { Matcher, MatcherType } from '../types.ts';
import type { Expr, MatrixSelector, SubqueryExpr, VectorSelector } from './ast.ts';
import { parsePositiveDuration } from './parse-duration.ts';
import { unquote } from './strings.ts';
import type { TokenStream } from './token-stream.ts';
import type { Token } from './tokens.ts';

const noOffset = { ms: 0 } as const;

/** Consumes a metric name and/or `{…}`. The caller has checked that one of them comes next. */
export function parseVectorSelector(stream: TokenStream, nameToken: Token | null): VectorSelector {
  const start = nameToken?.start ?? stream.current.start;
  stream.allow(nameToken ?? stream.current, stream.limits.selector());
  const matchers: Matcher[] = [];
  if (stream.at('{')) {
    stream.take();
    while (!stream.at('}')) {
      matchers.push(parseMatcher(stream));
      if (stream.at('}')) break;
      stream.expect(',', 'label matching', '"," or "}"');
    }
    stream.take();
  }
  const name = nameToken?.text ?? '';
  if (name !== '') matchers.push({ type: '=', name: '__name__', value: name });
  return {
    kind: 'vector',
    name,
    matchers,
    at: null,
    offset: noOffset,
    extension: null,
    start,
    end: stream.lastEnd,
  };
}

function parseMatcher(stream: TokenStream): Matcher {
  const label = stream.current;
  stream.allow(label, stream.limits.matcher());
  if (label.kind !== 'identifier' && label.kind !== 'string') {
    stream.unexpected('label matching', 'identifier or "}"');
  }
  stream.take();
  const name = label.kind === 'string' ? unquoteToken(stream, label) : label.text;
  const type = stream.current.kind === 'operator' ? stream.current.text : '';
  if (type !== '=' && type !== '!=' && type !== '=~' && type !== '!~') {
    if (label.kind === 'string') return { type: '=', name: '__name__', value: name };
    stream.unexpected('label matching', 'label matching operator');
  }
  stream.take();
  if (stream.current.kind !== 'string') stream.unexpected('label matching', 'string');
  const valueToken = stream.take();
  const value = unquoteToken(stream, valueToken);
  if (type === '=~' || type === '!~') {
    const position = { start: label.start, end: valueToken.end };
    stream.allow(position, stream.limits.pattern(value) ?? checkPattern(value));
  }
  return { type: type satisfies MatcherType, name, value };
}

/** The value of a string token, or a parse error where its escapes are wrong. */
export function unquoteToken(stream: TokenStream, token: Token): string {
  try {
    return unquote(token.text);
  } catch (error) {
    return stream.fail(token, `error unquoting string ${token.text}: ${(error as Error).message}`);
  }
}

/** Consumes `[range]` or `[range:step]` after an expression. */
export function parseBracket(stream: TokenStream, expr: Expr): MatrixSelector | SubqueryExpr {
  const open = stream.take();
  const range = parsePositiveDuration(stream, 'subquery or range selector', 'number, duration, step(), or range()');
  if (stream.at(']')) {
    const close = stream.take();
    return matrixSelector(stream, expr, range, { start: open.start, end: close.end });
  }
  stream.expect(':', 'subquery or range', '":" or "]"');
  let step = null;
  if (!stream.at(']')) {
    step = parsePositiveDuration(stream, 'subquery selector', 'number, duration, step(), range(), or "]"');
  }
  const close = stream.expect(']', 'subquery selector', '"]"');
  return { kind: 'subquery', expr, range, step, at: null, offset: noOffset, start: expr.start, end: close.end };
}

function matrixSelector(
  stream: TokenStream,
  expr: Expr,
  range: MatrixSelector['range'],
  brackets: Position,
): MatrixSelector {
  if (expr.kind !== 'vector') return stream.fail(brackets, 'ranges only allowed for vector selectors');
  if (!('ms' in expr.offset) || expr.offset.ms !== 0) stream.fail(brackets, 'no offset modifiers allowed before range');
  if (expr.at !== null) stream.fail(brackets, 'no @ modifiers allowed before range');
  return { kind: 'matrix', selector: expr, range, start: expr.start, end: brackets.end };
}
