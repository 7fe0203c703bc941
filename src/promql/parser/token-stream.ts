import { ParseError, type Position } from '../errors.ts';
import type { LanguageOptions } from '../types.ts';
import { Lexer } from './lexer.ts';
import { TextLimits, refuseDepth } from './text-limits.ts';
import { describe, type Token } from './tokens.ts';

/** One token of lookahead over the lexer, with the error texts of the grammar. */
export class TokenStream {
  readonly text: string;
  readonly options: LanguageOptions;
  readonly limits: TextLimits;
  #depth = 0;
  #lexer: Lexer;
  #current: Token;
  #lastEnd = 0;

  /** Errors: ParseError for a text that is too long, or that begins with an invalid token. */
  constructor(text: string, options: LanguageOptions, limits = new TextLimits()) {
    this.text = text;
    this.options = options;
    this.limits = limits;
    this.#lexer = new Lexer(text);
    this.#current = { kind: 'eof', text: '', word: '', start: 0, end: 0 };
    this.allow({ start: 0, end: 0 }, limits.text(text));
    this.#current = this.#lexer.next();
  }

  /** The token that comes next, not consumed. */
  get current(): Token {
    return this.#current;
  }

  /** Where the last consumed token ended. */
  get lastEnd(): number {
    return this.#lastEnd;
  }

  /** Consumes and returns the next token. */
  take(): Token {
    const token = this.#current;
    this.#lastEnd = token.end;
    this.#current = this.#lexer.next();
    return token;
  }

  /** True when the next token is this punctuation mark or operator. */
  at(mark: string): boolean {
    const { kind, word } = this.#current;
    return (kind === 'punctuation' || kind === 'operator') && word === mark;
  }

  /** True when the next token is one of these keywords. */
  atKeyword(...words: string[]): boolean {
    return this.#current.kind === 'keyword' && words.includes(this.#current.word);
  }

  /** Consumes this mark; otherwise fails as the grammar does in `context`. */
  expect(mark: string, context = '', expected = ''): Token {
    if (!this.at(mark)) this.unexpected(context, expected);
    return this.take();
  }

  /** Fails at a position with the reason that a limit returned; null: the limit is kept, and nothing happens. */
  allow(position: Position, refusal: string | null): void {
    if (refusal !== null) this.fail(position, refusal);
  }

  /** Parses something nested one level deeper. Errors: ParseError beyond the deepest level. */
  nested<T>(parse: () => T): T {
    this.allow(this.#current, refuseDepth(++this.#depth));
    const parsed = parse();
    this.#depth--;
    return parsed;
  }

  /** Fails at a position of the text. */
  fail(position: Position, reason: string): never {
    throw new ParseError(this.text, position, reason);
  }

  /** Fails at the next token: `unexpected … in context, expected …`. */
  unexpected(context = '', expected = ''): never {
    const inContext = context === '' ? '' : ` in ${context}`;
    const wanted = expected === '' ? '' : `, expected ${expected}`;
    this.fail(this.#current, `unexpected ${describe(this.#current)}${inContext}${wanted}`);
  }
}
