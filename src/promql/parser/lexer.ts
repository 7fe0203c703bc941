import { ParseError } from '../errors.ts';
import { aggregatorWords, durationWords, keywords, wordOperators, type Token, type TokenKind } from './tokens.ts';

const isSpace = (c: string): boolean => c === ' ' || c === '\t' || c === '\n' || c === '\r';
const isDigit = (c: string): boolean => c >= '0' && c <= '9' && c.length === 1;
const isAlpha = (c: string): boolean => c === '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
const isWordChar = (c: string): boolean => isAlpha(c) || isDigit(c);

const durationText = /^(?:[0-9]+(?:ms|[smhdwy]))+$/;

/**
 * Cuts a query into tokens, one at a time, because the meaning of a character depends on the surrounding bracket:
 * inside braces words are label names, inside square brackets `:` separates range and step.
 * Errors: ParseError at the token that cannot be read.
 */
export class Lexer {
  readonly text: string;
  #pos = 0;
  #parens = 0;
  #inBraces = false;
  #inBrackets = false;
  #gotColon = false;
  #gotDuration = false;

  constructor(text: string) {
    this.text = text;
  }

  /** The next token that is neither space nor comment; `eof` repeatedly at the end. */
  next(): Token {
    this.#skipBlank();
    const start = this.#pos;
    const c = this.text[start] ?? '';
    if (c === '') return this.#end(start);
    if (c === '"' || c === "'" || c === '`') return this.#string(start, c);
    if (this.#inBraces) return this.#insideBraces(start, c);
    if (this.#inBrackets) return this.#insideBrackets(start, c);
    return this.#statement(start, c);
  }

  #skipBlank(): void {
    for (;;) {
      const c = this.text[this.#pos] ?? '';
      if (isSpace(c)) this.#pos++;
      else if (c === '#') {
        while (this.#pos < this.text.length && this.text[this.#pos] !== '\n' && this.text[this.#pos] !== '\r') {
          this.#pos++;
        }
      } else return;
    }
  }

  #end(start: number): Token {
    if (this.#inBraces) this.#fail(start, 'unexpected end of input inside braces');
    if (this.#inBrackets && !this.#gotDuration) this.#fail(start, 'unexpected end of input in duration expression');
    if (this.#parens !== 0) this.#fail(start, 'unclosed left parenthesis');
    if (this.#inBrackets) this.#fail(start, 'unclosed left bracket');
    return this.#emit('eof', start, start);
  }

  #statement(start: number, c: string): Token {
    const two = this.text.slice(start, start + 2);
    if (two === '==' || two === '!=' || two === '<=' || two === '>=' || two === '</' || two === '>/') {
      return this.#emit('operator', start, start + 2);
    }
    if (c === '=' && two === '=~') this.#fail(start, `unexpected character after '=': '~'`);
    if (c === '!') this.#fail(start, `unexpected character after '!': ${quotedChar(this.text, start + 1)}`);
    if ('+-*/%^<>='.includes(c)) return this.#emit('operator', start, start + 1);
    if (c === ',' || c === '@') return this.#emit('punctuation', start, start + 1);
    if (c === '(' || c === ')') return this.#paren(start, c);
    if (c === '{') {
      this.#inBraces = true;
      return this.#emit('punctuation', start, start + 1);
    }
    if (c === '[') {
      this.#inBrackets = true;
      this.#gotColon = false;
      this.#gotDuration = false;
      return this.#emit('punctuation', start, start + 1);
    }
    if (c === ']') this.#fail(start, `unexpected right bracket ']'`);
    if (isDigit(c) || (c === '.' && isDigit(this.text[start + 1] ?? ''))) return this.#numberOrDuration(start);
    if (isAlpha(c) || c === ':') return this.#word(start);
    return this.#fail(start, `unexpected character: ${quotedChar(this.text, start)}`);
  }

  #paren(start: number, c: string): Token {
    this.#parens += c === '(' ? 1 : -1;
    if (this.#parens < 0) this.#fail(start, `unexpected right parenthesis ')'`);
    return this.#emit('punctuation', start, start + 1);
  }

  #word(start: number): Token {
    let end = start;
    while (end < this.text.length && (isWordChar(this.text[end]!) || this.text[end] === ':')) end++;
    const text = this.text.slice(start, end);
    const word = text.toLowerCase();
    if (aggregatorWords.has(word)) return this.#emit('aggregator', start, end);
    if (wordOperators.has(word)) return this.#emit('operator', start, end);
    if (word === 'inf' || word === 'nan') return this.#emit('number', start, end);
    if (keywords.has(word)) {
      // fill is a recent keyword: only `fill (` is the modifier, so that metrics of that name keep working.
      const isName = word.startsWith('fill') && !/^\s*\(/.test(this.text.slice(end));
      return this.#emit(isName ? 'identifier' : 'keyword', start, end);
    }
    return this.#emit(text.includes(':') ? 'metric' : 'identifier', start, end);
  }

  #insideBraces(start: number, c: string): Token {
    const two = this.text.slice(start, start + 2);
    if (two === '=~' || two === '!~' || two === '!=') return this.#emit('operator', start, start + 2);
    if (c === '=') return this.#emit('operator', start, start + 1);
    if (c === '!') {
      this.#fail(start, `unexpected character after '!' inside braces: ${quotedChar(this.text, start + 1)}`);
    }
    if (c === ',') return this.#emit('punctuation', start, start + 1);
    if (c === '{') this.#fail(start, `unexpected left brace '{'`);
    if (c === '}') {
      this.#inBraces = false;
      return this.#emit('punctuation', start, start + 1);
    }
    if (isAlpha(c)) {
      let end = start;
      while (end < this.text.length && isWordChar(this.text[end]!)) end++;
      return this.#emit('identifier', start, end);
    }
    return this.#fail(start, `unexpected character inside braces: ${quotedChar(this.text, start)}`);
  }

  #insideBrackets(start: number, c: string): Token {
    if (c === ']') {
      this.#inBrackets = false;
      return this.#emit('punctuation', start, start + 1);
    }
    if (c === ':') {
      if (!this.#gotDuration) this.#fail(start, 'unexpected colon before duration in duration expression');
      if (this.#gotColon) this.#fail(start, `unexpected colon ':'`);
      this.#gotColon = true;
      return this.#emit('punctuation', start, start + 1);
    }
    if (c === '(' || c === ')') return this.#paren(start, c);
    if (c === ',') return this.#emit('punctuation', start, start + 1);
    if ('+-*/%^'.includes(c)) return this.#emit('operator', start, start + 1);
    if (c === '[') this.#fail(start, `unexpected left bracket '['`);
    if (isDigit(c) || (c === '.' && isDigit(this.text[start + 1] ?? ''))) {
      this.#gotDuration = true;
      return this.#numberOrDuration(start);
    }
    if (isAlpha(c)) {
      let end = start;
      while (end < this.text.length && isAlpha(this.text[end]!)) end++;
      if (durationWords.has(this.text.slice(start, end).toLowerCase())) {
        this.#gotDuration = true;
        return this.#emit('keyword', start, end);
      }
    }
    return this.#fail(start, `unexpected character in duration expression: ${quotedChar(this.text, start)}`);
  }

  #numberOrDuration(start: number): Token {
    const rest = this.text.slice(start);
    const hex = /^0[xX]_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*/.exec(rest)?.[0];
    const plain = /^(?:[0-9]+(?:_[0-9]+)*)?(?:\.(?:[0-9]+(?:_[0-9]+)*)?)?(?:[eE][+-]?[0-9]+(?:_[0-9]+)*)?/.exec(
      rest,
    )![0];
    const number = hex ?? plain;
    if (number !== '' && !isWordChar(rest[number.length] ?? '') && rest[number.length] !== '.') {
      return this.#emit('number', start, start + number.length);
    }
    const run = /^[0-9a-zA-Z_.]+/.exec(rest)![0];
    if (durationText.test(run)) return this.#emit('duration', start, start + run.length);
    return this.#fail(start, `bad number or duration syntax: ${JSON.stringify(run)}`);
  }

  #string(start: number, quote: string): Token {
    let i = start + 1;
    for (; ; i++) {
      const c = this.text[i];
      if (c === undefined || (c === '\n' && quote !== '`')) {
        this.#fail(start, quote === '`' ? 'unterminated raw string' : 'unterminated quoted string');
      }
      if (c === quote) break;
      if (c === '\\' && quote !== '`') i++;
    }
    return this.#emit('string', start, i + 1);
  }

  #emit(kind: TokenKind, start: number, end: number): Token {
    this.#pos = end;
    const text = this.text.slice(start, end);
    return { kind, text, word: kind === 'string' ? text : text.toLowerCase(), start, end };
  }

  #fail(start: number, reason: string): never {
    throw new ParseError(this.text, { start, end: this.text.length }, reason);
  }
}

/** The character at a position, quoted as Go's %q does in messages; the end of the text is shown as U+FFFD. */
function quotedChar(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? `'\uFFFD'` : `'${String.fromCodePoint(code)}'`;
}
