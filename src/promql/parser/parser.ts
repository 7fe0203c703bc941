import type { LanguageOptions } from '../types.ts';
import { type Aggregator, type AggregateExpr, type BinaryOperator, binaryOperators, type Expr } from './ast.ts';
import { parameterAggregators } from './ast.ts';
import { functionTable } from './functions.ts';
import { parseBinaryModifiers, parseGrouping } from './parse-binary-modifiers.ts';
import { parseAt, parseExtension, parseOffset } from './parse-modifiers.ts';
import { atNumber, parseNumberLiteral } from './parse-number.ts';
import { parseBracket, parseVectorSelector, unquoteToken } from './parse-selector.ts';
import { TextLimits, refuseDepth, tooDeep } from './text-limits.ts';
import { TokenStream } from './token-stream.ts';
import { canNameMetric, type Token } from './tokens.ts';
import { checkTypes } from './type-check.ts';

/** A sign binds as tightly as `*`. */
const unaryBinding = binaryOperators['*'];

/**
 * Parses and type-checks a query. A caller passes the same `limits` for all texts of one request.
 * Errors: ParseError with `line:col: parse error: reason` in Prometheus' words; also for a query that exceeds
 * `queryLimits`, before it is compiled or walked.
 */
export function parse(text: string, options: LanguageOptions = {}, limits = new TextLimits()): Expr {
  const stream = new TokenStream(text, options, limits);
  if (stream.current.kind === 'eof') stream.fail({ start: 0, end: 0 }, 'no expression found in input');
  const expr = parseExpr(stream, 0);
  if (stream.current.kind !== 'eof') stream.unexpected();
  const deep = tooDeep(expr);
  if (deep !== null) stream.allow(deep, refuseDepth(Infinity));
  return checkTypes(text, expr);
}

/** Parses a selector alone (`match[]` of the series API). Errors: ParseError, also for anything but a selector. */
export function parseSelector(text: string, limits = new TextLimits()): Expr & { kind: 'vector' } {
  const expr = parse(text, {}, limits);
  if (expr.kind !== 'vector') {
    const stream = new TokenStream(text, {});
    return stream.fail(expr, 'expected a vector selector');
  }
  return expr;
}

function parseExpr(stream: TokenStream, minBinding: number): Expr {
  return stream.nested(() => parseOperators(stream, minBinding));
}

function parseOperators(stream: TokenStream, minBinding: number): Expr {
  let left = parsePrefix(stream);
  for (;;) {
    const { kind, word } = stream.current;
    const op = kind === 'operator' ? (word as BinaryOperator) : null;
    const strength = op === null ? undefined : binaryOperators[op];
    if (op === null || strength === undefined || strength < minBinding) return left;
    stream.take();
    const { returnBool, matching } = parseBinaryModifiers(stream);
    const right = parseExpr(stream, op === '^' ? strength : strength + 1);
    if ((matching.fillLeft !== null || matching.fillRight !== null) && stream.options.fillModifiers !== true) {
      stream.fail(left, 'binop fill modifiers are experimental and not enabled');
    }
    left = { kind: 'binary', op, left, right, returnBool, matching, start: left.start, end: right.end };
  }
}

function parsePrefix(stream: TokenStream): Expr {
  if (!stream.at('+') && !stream.at('-')) return parsePostfix(stream, parsePrimary(stream));
  const token = stream.take();
  const op = token.text as '+' | '-';
  const expr = parseExpr(stream, unaryBinding + 1);
  if (expr.kind === 'number') return { ...expr, value: op === '-' ? -expr.value : expr.value, start: token.start };
  return { kind: 'unary', op, expr, start: token.start, end: expr.end };
}

function parsePostfix(stream: TokenStream, primary: Expr): Expr {
  let expr = primary;
  for (;;) {
    if (stream.at('[')) expr = parseBracket(stream, expr);
    else if (stream.atKeyword('offset')) expr = parseOffset(stream, expr);
    else if (stream.at('@')) expr = parseAt(stream, expr);
    else if (stream.atKeyword('anchored', 'smoothed')) expr = parseExtension(stream, expr);
    else return expr;
  }
}

function parsePrimary(stream: TokenStream): Expr {
  const token = stream.current;
  if (atNumber(stream)) return parseNumberLiteral(stream);
  if (token.kind === 'string') {
    const value = unquoteToken(stream, stream.take());
    return { kind: 'string', value, start: token.start, end: token.end };
  }
  if (stream.at('(')) {
    stream.take();
    const expr = parseExpr(stream, 0);
    const close = stream.expect(')');
    return { kind: 'paren', expr, start: token.start, end: close.end };
  }
  if (stream.at('{')) return parseVectorSelector(stream, null);
  if (!canNameMetric(token)) stream.unexpected();
  stream.take();
  if (token.kind === 'aggregator' && (stream.at('(') || stream.atKeyword('by', 'without'))) {
    return parseAggregate(stream, token);
  }
  if (stream.at('(') && canCall(token)) return parseCall(stream, token);
  if (token.kind === 'aggregator' && !followsMetric(stream)) stream.unexpected('aggregation');
  return parseVectorSelector(stream, token);
}

function canCall(token: Token): boolean {
  const callable = ['start', 'end', 'step', 'range', 'max_of', 'min_of'];
  return token.kind === 'identifier' || (token.kind === 'keyword' && callable.includes(token.word));
}

function followsMetric(stream: TokenStream): boolean {
  const { kind } = stream.current;
  return kind === 'eof' || kind === 'operator' || kind === 'punctuation' || kind === 'keyword';
}

function parseCall(stream: TokenStream, token: Token): Expr {
  const args = parseArguments(stream);
  countPattern(stream, token, args);
  const func = functionTable.get(token.text) ?? functionTable.get(token.kind === 'keyword' ? token.word : '');
  if (func === undefined) return stream.fail(token, `unknown function with name ${JSON.stringify(token.text)}`);
  if (func.experimental && stream.options.experimentalFunctions !== true) {
    stream.fail(token, `function ${JSON.stringify(token.text)} is not enabled`);
  }
  return { kind: 'call', func, args, start: token.start, end: stream.lastEnd };
}

/** The grammar treats the regular expression of label_replace as text, but it counts against the limit of patterns. */
function countPattern(stream: TokenStream, { text }: Token, args: readonly Expr[]): void {
  const pattern = args[4];
  if (text === 'label_replace' && pattern?.kind === 'string') {
    stream.allow(pattern, stream.limits.pattern(pattern.value));
  }
}

/** Arguments beyond these, the most that a function has by itself, are a list of labels. */
const ownArguments = 5;

function parseArguments(stream: TokenStream): Expr[] {
  stream.expect('(');
  const args: Expr[] = [];
  while (!stream.at(')')) {
    if (args.length >= ownArguments) stream.allow(stream.current, stream.limits.listedLabel());
    args.push(parseExpr(stream, 0));
    if (stream.at(')')) break;
    const comma = stream.expect(',');
    if (stream.at(')')) stream.fail(comma, 'trailing commas not allowed in function call args');
  }
  stream.take();
  return args;
}

function parseAggregate(stream: TokenStream, token: Token): AggregateExpr {
  const op = token.word as Aggregator;
  let grouping: string[] = [];
  let without = false;
  const modifier = (): boolean => {
    if (!stream.atKeyword('by', 'without')) return false;
    without = stream.take().word === 'without';
    grouping = parseGrouping(stream);
    return true;
  };
  const before = modifier();
  if (!stream.at('(')) stream.unexpected('aggregation');
  const args = parseArguments(stream);
  if (!before) modifier();
  const position = { start: token.start, end: stream.lastEnd };
  if (args.length === 0) stream.fail(position, 'no arguments for aggregate expression provided');
  const wanted = parameterAggregators.has(op) ? 2 : 1;
  if ((op === 'limitk' || op === 'limit_ratio') && stream.options.experimentalFunctions !== true) {
    stream.fail(
      position,
      `${op}() is experimental and must be enabled with --enable-feature=promql-experimental-functions`,
    );
  }
  if (args.length !== wanted) {
    stream.fail(
      position,
      `wrong number of arguments for aggregate expression provided, expected ${wanted}, got ${args.length}`,
    );
  }
  const param = wanted === 2 ? args[0]! : null;
  return { kind: 'aggregate', op, expr: args[wanted - 1]!, param, grouping, without, ...position };
}
