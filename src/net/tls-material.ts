import { createSecureContext } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { errorText, OperatorError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';

/** PEM texts of one identity: its chain, its key, and the CAs it trusts (two during a CA overlap). */
export interface TlsMaterial {
  cert: string;
  key: string;
  ca: string;
}

/** Source of the current identity for servers and clients. `generation` grows with each change. */
export interface TlsSource {
  readonly current: TlsMaterial;
  readonly generation: number;
  /** Calls back after each change; the returned function unsubscribes. */
  onChange(fn: (material: TlsMaterial) => void): () => void;
}

/** A source that never changes. */
export function fixedTls(material: TlsMaterial): TlsSource {
  return new HeldTls(material);
}

/** A source whose owner sets each new identity with `replace`. */
export class HeldTls implements TlsSource {
  current: TlsMaterial;
  generation = 1;
  readonly #listeners = new Set<(material: TlsMaterial) => void>();

  constructor(first: TlsMaterial) {
    this.current = first;
  }

  onChange(fn: (material: TlsMaterial) => void): () => void {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  /** Whether an identity is the current one. */
  has({ cert, key, ca }: TlsMaterial): boolean {
    return cert === this.current.cert && key === this.current.key && ca === this.current.ca;
  }

  replace(next: TlsMaterial): void {
    this.current = next;
    this.generation++;
    for (const fn of this.#listeners) fn(next);
  }
}

/** The files of a directory in addition to `tls.crt` and `tls.key`. A TLS Secret of another owner may have no CA. */
export interface TlsDirectory {
  /** Whether `ca.crt` is read too. Default true. */
  readonly hasCa?: boolean;
}

/**
 * Reads `tls.crt`, `tls.key` and `ca.crt` of a mounted Secret and follows its rotation.
 * The files are used together or not at all: an inconsistent set is logged and the last good one stays. It polls,
 * because a Secret mount swaps a symbolic link and file watches miss that on some file systems.
 * Errors: ERR_TLS_MATERIAL when the first read fails.
 */
export async function watchTlsDirectory(
  dir: string,
  deps: { clock: Clock; logger: Logger; signal: AbortSignal; pollMs?: number },
  files: TlsDirectory = {},
): Promise<TlsSource> {
  const source = new HeldTls(await readTlsDirectory(dir, files));
  pollUntilAborted(deps, async () => {
    try {
      const next = await readTlsDirectory(dir, files);
      if (source.has(next)) return;
      source.replace(next);
      deps.logger.info('certificate reloaded', { dir, notAfter: new X509Certificate(next.cert).validTo });
    } catch (error) {
      deps.logger.warn('certificate not reloaded, the last good one stays', { dir, error: errorText(error) });
    }
  });
  return source;
}

/** Polls until the signal aborts, each time `pollMs` (5 s unless given) after the last read ended. */
export function pollUntilAborted(
  { clock, signal, pollMs = 5_000 }: { clock: Clock; signal: AbortSignal; pollMs?: number },
  look: () => Promise<void>,
): void {
  const schedule = (): void => {
    const cancel = clock.setTimeout(() => {
      signal.removeEventListener('abort', cancel);
      void look().finally(() => {
        if (!signal.aborted) schedule();
      });
    }, pollMs);
    signal.addEventListener('abort', cancel, { once: true });
  };
  if (!signal.aborted) schedule();
}

/** Reads the directory once, and checks that the key belongs to the certificate and that everything parses. */
export async function readTlsDirectory(dir: string, { hasCa = true }: TlsDirectory = {}): Promise<TlsMaterial> {
  const read = async (name: string): Promise<string> => {
    try {
      return await readFile(join(dir, name), 'utf8');
    } catch (cause) {
      throw new OperatorError('ERR_TLS_MATERIAL', `cannot read ${join(dir, name)}: ${errorText(cause)}`, { cause });
    }
  };
  const [cert, key, ca] = await Promise.all([read('tls.crt'), read('tls.key'), hasCa ? read('ca.crt') : '']);
  try {
    checkTlsMaterial({ cert, key, ca });
  } catch (cause) {
    const names = hasCa ? 'tls.crt, tls.key and ca.crt' : 'tls.crt and tls.key';
    const message = `${names} in ${dir} do not fit together: ${errorText(cause)}`;
    throw new OperatorError('ERR_TLS_MATERIAL', message, { cause });
  }
  return { cert, key, ca };
}

/** Checks that the key belongs to the certificate and that everything parses. Errors: those of OpenSSL. */
export function checkTlsMaterial({ cert, key, ca }: TlsMaterial): void {
  createSecureContext({ cert, key, ca });
}

/** Every certificate of a PEM bundle. Errors: those of OpenSSL for one that cannot be parsed. */
export function certificatesOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}
