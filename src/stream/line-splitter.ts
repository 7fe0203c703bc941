import { StringDecoder } from 'node:string_decoder';
import { OperatorError } from '../base/errors.ts';

/** The longest accepted line; an agent cuts spans and flows so that theirs are shorter. Units: characters. */
export const maxLineLength = 1024 * 1024;

/** Cuts a body into lines as its chunks arrive. Text after the last line break is never returned. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #maxLength: number;
  #rest = '';

  constructor(maxLength = maxLineLength) {
    this.#maxLength = maxLength;
  }

  /** Takes a chunk and returns the lines that it completes. Errors: ERR_TOO_LARGE for a line that is too long. */
  take(chunk: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop()!;
    const tooLong = [...lines, this.#rest].some((line) => line.length > this.#maxLength);
    if (tooLong) throw new OperatorError('ERR_TOO_LARGE', `a line is longer than ${this.#maxLength} characters`);
    return lines.filter((line) => line !== '');
  }

  /** Call it at the end of the body. Errors: ERR_INPUT_INVALID when the body ends inside a line. */
  end(): void {
    if (this.#rest !== '') throw new OperatorError('ERR_INPUT_INVALID', 'the answer ends in the middle of a line');
  }
}
