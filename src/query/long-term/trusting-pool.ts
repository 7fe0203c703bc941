import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { Dispatcher } from 'undici';
import { Agent } from '../../base/wire/http-client.ts';
import { certificatesOf } from '../../net/tls-material.ts';

/**
 * Connections to one server. They trust the system's authorities and those of a file, which need not exist and is read
 * again for each request. While it cannot be read or parsed, the last good ones are trusted.
 */
export class TrustingPool {
  readonly #caFile: string;
  /** The text that the connections trust. */
  #ca = '';
  #pool: Dispatcher | undefined;

  /** Without a path only the system's authorities are trusted. */
  constructor(caFile: string) {
    this.#caFile = caFile;
  }

  /** The connections for the next request. */
  get current(): Dispatcher {
    const ca = this.#read();
    if (this.#pool && ca === this.#ca) return this.#pool;
    // Requests in flight end on their connections.
    void this.#pool?.close();
    this.#ca = ca;
    return (this.#pool = connections(ca));
  }

  #read(): string {
    if (this.#caFile === '') return '';
    try {
      const ca = readFileSync(this.#caFile, 'utf8');
      certificatesOf(ca);
      return ca;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : this.#ca;
    }
  }
}

function connections(ca: string): Dispatcher {
  const secureContext = ca === '' ? undefined : createSecureContext({ ca: [...getCACertificates('default'), ca] });
  return new Agent({ ...(secureContext ? { connect: { secureContext } } : {}), allowH2: false });
}
