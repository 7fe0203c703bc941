import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { TlsMaterial, TlsSource } from '../../../net/tls-material.ts';

/**
 * The authorities in a file as what a client trusts, and no certificate of its own: a token says who asks.
 * `refresh` takes the file anew, so that a rotation counts from the next request on.
 */
export class TrustedFile implements TlsSource {
  readonly #path: string;
  current: TlsMaterial = { cert: '', key: '', ca: '' };
  generation = 0;

  /** Without a path the authorities of the system count. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Errors: of reading the file, or when there is no certificate in it; what was read before stays then. */
  async refresh(): Promise<void> {
    if (this.#path === '') return;
    const ca = await readFile(this.#path, 'utf8');
    if (ca === this.current.ca) return;
    new X509Certificate(ca);
    this.current = { cert: '', key: '', ca };
    this.generation++;
  }

  onChange(): () => void {
    return () => {};
  }
}
