import type { NumberLiteral } from './ast.ts';
import { parseDurationLiteral } from './durations.ts';
import type { TokenStream } from './token-stream.ts';

/** The value of a number token: decimal, hex, octal (leading 0), exponent, underscores, Inf and NaN in any case. */
export function numberValue(text: string): number {
  const plain = text.replaceAll('_', '').toLowerCase();
  if (plain === 'inf') return Infinity;
  if (plain === 'nan') return NaN;
  if (plain.startsWith('0x')) return Number(plain);
  if (/^0[0-7]+$/.test(plain)) return Number(`0o${plain.slice(1)}`);
  return Number(plain);
}

/** True when the next token is a number or a duration. */
export function atNumber(stream: TokenStream): boolean {
  return stream.current.kind === 'number' || stream.current.kind === 'duration';
}

/** Consumes a number or duration literal (durations count in seconds). The caller has checked `atNumber`. */
export function parseNumberLiteral(stream: TokenStream): NumberLiteral {
  const token = stream.current;
  const position = { start: token.start, end: token.end };
  if (token.kind === 'number') {
    stream.take();
    return { kind: 'number', value: numberValue(token.text), isDuration: false, ...position };
  }
  let ms: number;
  try {
    ms = parseDurationLiteral(token.text);
  } catch (error) {
    stream.fail(token, (error as Error).message);
  }
  stream.take();
  return { kind: 'number', value: ms / 1000, isDuration: true, ...position };
}

/** Consumes `[+|-] number`. */
export function parseSignedNumber(stream: TokenStream, context: string, expected: string): NumberLiteral {
  const start = stream.current.start;
  const sign = stream.at('-') || stream.at('+') ? stream.take().text : '';
  if (!atNumber(stream)) stream.unexpected(context, expected);
  const literal = parseNumberLiteral(stream);
  return { ...literal, value: sign === '-' ? -literal.value : literal.value, start };
}
