import type { VectorMatching } from './ast.ts';
import { parseSignedNumber } from './parse-number.ts';
import { unquoteToken } from './parse-selector.ts';
import type { TokenStream } from './token-stream.ts';
import { isValidName } from './strings.ts';
import { canNameLabel } from './tokens.ts';

/** Consumes `(label, …)`; names may be quoted, a trailing comma is allowed. Errors: ParseError, also for too many. */
export function parseGrouping(stream: TokenStream): string[] {
  stream.expect('(', 'grouping opts', '"("');
  const labels: string[] = [];
  while (!stream.at(')')) {
    const token = stream.current;
    stream.allow(token, stream.limits.listedLabel());
    if (token.kind !== 'string' && !canNameLabel(token)) stream.unexpected('grouping opts', 'label');
    stream.take();
    const name = token.kind === 'string' ? unquoteToken(stream, token) : token.text;
    if (!isValidName(name)) {
      stream.fail(token, `invalid label name for grouping: ${JSON.stringify(name)}`);
    }
    labels.push(name);
    if (stream.at(')')) break;
    stream.expect(',', 'grouping opts', '"," or ")"');
  }
  stream.take();
  return labels;
}

/** The modifiers between a binary operator and its right operand. */
export interface BinaryModifiers {
  readonly returnBool: boolean;
  readonly matching: VectorMatching;
}

/** Consumes `[bool] [on|ignoring (…)] [group_left|group_right [(…)]] [fill…(n)]`. */
export function parseBinaryModifiers(stream: TokenStream): BinaryModifiers {
  let returnBool = false;
  if (stream.atKeyword('bool')) {
    stream.take();
    returnBool = true;
  }
  let on = false;
  let labels: string[] = [];
  let include: string[] = [];
  let card: VectorMatching['card'] = 'one-to-one';
  if (stream.atKeyword('on', 'ignoring')) {
    on = stream.take().word === 'on';
    labels = parseGrouping(stream);
    if (stream.atKeyword('group_left', 'group_right')) {
      card = stream.take().word === 'group_left' ? 'many-to-one' : 'one-to-many';
      if (stream.at('(')) include = parseGrouping(stream);
    }
  }
  let fillLeft: number | null = null;
  let fillRight: number | null = null;
  if (stream.atKeyword('fill')) {
    stream.take();
    fillLeft = fillRight = parseFillValue(stream);
  } else {
    const seen = new Set<string>();
    while (stream.atKeyword('fill_left', 'fill_right') && !seen.has(stream.current.word)) {
      const side = stream.take().word;
      seen.add(side);
      if (side === 'fill_left') fillLeft = parseFillValue(stream);
      else fillRight = parseFillValue(stream);
    }
  }
  return { returnBool, matching: { card, on, labels, include, fillLeft, fillRight } };
}

function parseFillValue(stream: TokenStream): number {
  stream.expect('(');
  const { value } = parseSignedNumber(stream, '', '');
  stream.expect(')');
  return value;
}
