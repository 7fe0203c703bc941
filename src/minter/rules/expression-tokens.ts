/** A token of a rule expression, which is written in a small subset of CEL. `at` is an offset into the expression. */
export interface Token {
  kind: 'name' | 'string' | 'symbol' | 'end';
  text: string;
  at: number;
}

/** A fault in a rule expression: the message and the position. It never carries claims of a caller. */
export class ExpressionFault extends Error {
  constructor(message: string, at: number) {
    super(`${message} at offset ${at}`);
    this.name = 'ExpressionFault';
  }
}

const symbols = ['==', '!=', '&&', '||', '!', '(', ')', '[', ']', ',', '.'];
const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
};

/** Splits an expression into tokens, the last of kind `end`. Errors: ExpressionFault. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let i = 0;
  while (i < source.length) {
    const c = source[i]!;
    if (/\s/.test(c)) {
      i++;
    } else if (source.startsWith('//', i)) {
      const newline = source.indexOf('\n', i);
      i = newline < 0 ? source.length : newline + 1;
    } else if (c === '"' || c === "'") {
      const [text, end] = readString(source, i);
      tokens.push({ kind: 'string', text, at: i });
      i = end;
    } else if (/[A-Za-z_]/.test(c)) {
      const [word] = /^[A-Za-z_][A-Za-z0-9_]*/.exec(source.slice(i, i + 128))!;
      const next = source[i + word.length];
      if (next === '"' || next === "'") throw new ExpressionFault('string prefixes are not supported', i);
      tokens.push({ kind: 'name', text: word, at: i });
      i += word.length;
    } else {
      const symbol = symbols.find((s) => source.startsWith(s, i));
      if (!symbol) throw new ExpressionFault(`unexpected character ${JSON.stringify(c)}`, i);
      tokens.push({ kind: 'symbol', text: symbol, at: i });
      i += symbol.length;
    }
  }
  tokens.push({ kind: 'end', text: 'end of expression', at: source.length });
  return tokens;
}

function readString(source: string, start: number): [text: string, end: number] {
  const quote = source[start]!;
  if (source.startsWith(quote.repeat(3), start)) throw new ExpressionFault('triple quotes are not supported', start);
  let text = '';
  let i = start + 1;
  for (;;) {
    const c = source[i];
    if (c === undefined || c === '\n' || c === '\r') throw new ExpressionFault('string without its end', start);
    if (c === quote) return [text, i + 1];
    if (c === '\\') {
      const [char, next] = readEscape(source, i);
      text += char;
      i = next;
    } else {
      text += c;
      i++;
    }
  }
}

function readEscape(source: string, at: number): [char: string, next: number] {
  const letter = source[at + 1] ?? '';
  if (Object.hasOwn(simpleEscapes, letter)) return [simpleEscapes[letter]!, at + 2];
  const numeric = /^\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/.exec(
    source.slice(at, at + 10),
  );
  if (!numeric) throw new ExpressionFault('unknown escape', at);
  const [all, x, u, long, octal] = numeric;
  const code = octal === undefined ? Number.parseInt((x ?? u ?? long)!, 16) : Number.parseInt(octal, 8);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw new ExpressionFault('not a character', at);
  return [String.fromCodePoint(code), at + all.length];
}
