import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';

type Close = () => Promise<void> | void;

/**
 * The opened parts, which have to be closed. An error while closing one part does not prevent the others from closing.
 */
export class Closing {
  readonly #logger: Logger;
  readonly #parts: Close[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(close: Close): void {
    this.#parts.push(close);
  }

  /** Closes one after the other, the last opened first. */
  async inReverse(): Promise<void> {
    for (const close of this.#parts.reverse()) await this.#close(close);
  }

  async together(): Promise<void> {
    await Promise.all(this.#parts.map((close) => this.#close(close)));
  }

  async #close(close: Close): Promise<void> {
    try {
      await close();
    } catch (error) {
      this.#logger.error('close failed', { error: errorText(error) });
    }
  }
}
