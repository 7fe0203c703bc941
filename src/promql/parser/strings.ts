/** Simple escapes of a quoted string, without the numeric ones. */
const simple: Record<string, string> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
};

/**
 * The value of a quoted string literal ('…', "…" or raw `…`), escapes as in Go: \a \b \f \n \r \t \v \\ \' \" \ooo \xhh
 * \uhhhh \Uhhhhhhhh. Octal and hex escapes are bytes of UTF-8.
 * Errors: throws an Error whose message is the reason.
 */
export function unquote(literal: string): string {
  const quote = literal[0]!;
  const body = literal.slice(1, -1);
  if (quote === '`') return body.replaceAll('\r', '');
  if (!body.includes('\\')) return body;
  let out = '';
  let bytes: number[] = [];
  const flush = (): void => {
    if (bytes.length > 0) out += decodeBytes(bytes);
    bytes = [];
  };
  for (let i = 0; i < body.length; i++) {
    const c = body[i]!;
    if (c !== '\\') {
      flush();
      out += c;
      continue;
    }
    const e = body[++i] ?? '';
    const byte = /^(?:x([0-9a-fA-F]{2})|([0-7]{3}))/.exec(body.slice(i));
    const rune = /^(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/.exec(body.slice(i));
    if (byte !== null) {
      const value = byte[1] !== undefined ? parseInt(byte[1], 16) : parseInt(byte[2]!, 8);
      if (value > 255) throw new Error('invalid syntax');
      bytes.push(value);
      i += byte[0].length - 1;
    } else if (rune !== null) {
      const value = parseInt((rune[1] ?? rune[2])!, 16);
      if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
        throw new Error('escape sequence is an invalid Unicode code point');
      }
      flush();
      out += String.fromCodePoint(value);
      i += rune[0].length - 1;
    } else if (simple[e] !== undefined && !((e === "'" || e === '"') && e !== quote)) {
      flush();
      out += simple[e];
    } else if (e === '') throw new Error('escape sequence not terminated');
    else throw new Error(`unknown escape sequence ${JSON.stringify(`\\${e}`)}`);
  }
  flush();
  return out;
}

const short: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Text from bytes. Bytes that are not UTF-8 become lone surrogates U+DC80…U+DCFF, which no valid text contains: an
 * invalid name can still be distinguished from a valid one, and printed again as it was written.
 */
function decodeBytes(bytes: readonly number[]): string {
  try {
    return utf8.decode(Uint8Array.from(bytes));
  } catch {
    return bytes.map((byte) => String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte)).join('');
  }
}

/** True for a valid label or metric name: any string but the empty one, as long as it is valid Unicode. */
export function isValidName(name: string): boolean {
  return name !== '' && name.isWellFormed();
}

/** A double-quoted literal that `unquote` reads back, with printable characters unescaped. */
export function quote(text: string): string {
  let out = '"';
  for (const c of text) {
    const code = c.codePointAt(0)!;
    if (short[c] !== undefined) out += short[c];
    else if (code >= 0xdc80 && code <= 0xdcff) out += `\\x${(code - 0xdc00).toString(16)}`;
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, '0')}`;
    else if (code >= 0x80 && !/[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(c)) {
      out += code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
    } else out += c;
  }
  return `${out}"`;
}

/** True for names that need no quotes as a label. */
export function isPlainLabelName(name: string): boolean {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name);
}

/** True for names that need no quotes as a metric. */
export function isPlainMetricName(name: string): boolean {
  return /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name);
}
