import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { ClientTrust } from '../../net/https-server.ts';
import { pollUntilAborted } from '../../net/tls-material.ts';

/** The authorities of the API server's client certificate, read from a file. */
export class ClientCa implements ClientTrust {
  readonly #file: string;
  #ca: string;
  readonly #listeners = new Set<() => void>();

  /**
   * Errors: ERR_CONFIG_INVALID when the file cannot be read or holds no certificate. The alternative would be an
   * operator that silently answers every caller.
   */
  constructor(file: string) {
    this.#file = file;
    try {
      this.#ca = checked(readFileSync(file, 'utf8'));
    } catch (cause) {
      const message = `--admission-client-ca-file ${file}: ${errorText(cause)}`;
      throw new OperatorError('ERR_CONFIG_INVALID', message, { cause });
    }
  }

  /** PEM. */
  get ca(): string {
    return this.#ca;
  }

  onChange(fn: () => void): () => void {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  /** Follows the file until the signal aborts. A read error is logged, and the last good authorities stay in force. */
  follow({ clock, logger, signal }: { clock: Clock; logger: Logger; signal: AbortSignal }): void {
    const file = this.#file;
    pollUntilAborted({ clock, signal }, async () => {
      try {
        const ca = checked(await readFile(file, 'utf8'));
        if (ca === this.#ca) return;
        this.#ca = ca;
        logger.info('authorities of webhook callers reloaded', { file });
        for (const fn of this.#listeners) fn();
      } catch (error) {
        logger.warn('authorities of webhook callers not reloaded, the last good ones stay', {
          file,
          error: errorText(error),
        });
      }
    });
  }
}

/** Errors: those of OpenSSL when the text holds no certificate, or one that cannot be parsed. */
function checked(pem: string): string {
  new X509Certificate(pem);
  createSecureContext({ ca: pem });
  return pem;
}
