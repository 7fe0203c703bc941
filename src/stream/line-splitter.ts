import { StringDecoder } from 'node:string_decoder';
import { OperatorError } from '../base/errors.ts';

/** The longest line that is taken: a span with all that its limits allow is far below. Units: characters. */
const maxLineLength = 1024 * 1024;

/** Cuts a body into lines as its pieces come. What stands behind the last line break is never handed out. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #maxLength: number;
  #rest = '';

  constructor(maxLength = maxLineLength) {
    this.#maxLength = maxLength;
  }

  /** The lines that are whole now. Errors: ERR_TOO_LARGE for one that is too long. */
  take(chunk: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop()!;
    const tooLong = [...lines, this.#rest].some((line) => line.length > this.#maxLength);
    if (tooLong) throw new OperatorError('ERR_TOO_LARGE', `a line is longer than ${this.#maxLength} characters`);
    return lines.filter((line) => line !== '');
  }

  /** The body is over. Errors: ERR_INPUT_INVALID when it was cut in the middle of a line. */
  end(): void {
    if (this.#rest !== '') throw new OperatorError('ERR_INPUT_INVALID', 'the answer ends in the middle of a line');
  }
}
