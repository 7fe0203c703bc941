import type { X509Certificate } from 'node:crypto';
import { certificatesOf } from '../../../net/tls-material.ts';
import type { ClientTrust } from '../../../net/https-server.ts';

/** The CAs and names that identify the API server's front proxy, and clients that come with a certificate. */
export interface AuthenticationConfig {
  /** CA of client certificates, PEM; "" where there is none. */
  readonly clientCa: string;
  readonly clientCas: readonly X509Certificate[];
  /** CA of the front proxy, PEM; "" where there is none: identity headers are then ignored. */
  readonly frontProxyCa: string;
  readonly frontProxyCas: readonly X509Certificate[];
  /** Common names of the front proxy; empty allows any. */
  readonly allowedNames: readonly string[];
  /** Header names in lower case, as Node gives them. */
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

/**
 * Reads the data of ConfigMap kube-system/extension-apiserver-authentication; its lists are JSON text.
 * Errors: SyntaxError or TypeError for a value that is not a list, or a CA that cannot be parsed.
 */
export function readAuthenticationConfig(data: Readonly<Record<string, string>> = {}): AuthenticationConfig {
  const list = (key: string): string[] => {
    const value: unknown = JSON.parse(data[key] ?? '[]');
    if (!Array.isArray(value) || value.some((v) => typeof v !== 'string')) throw new TypeError(`${key} is no list`);
    return value as string[];
  };
  const lower = (key: string): string[] => list(key).map((name) => name.toLowerCase());
  const { 'client-ca-file': clientCa = '', 'requestheader-client-ca-file': frontProxyCa = '' } = data;
  return {
    clientCa,
    clientCas: certificatesOf(clientCa),
    frontProxyCa,
    frontProxyCas: certificatesOf(frontProxyCa),
    allowedNames: list('requestheader-allowed-names'),
    usernameHeaders: lower('requestheader-username-headers'),
    uidHeaders: lower('requestheader-uid-headers'),
    groupHeaders: lower('requestheader-group-headers'),
    extraHeaderPrefixes: lower('requestheader-extra-headers-prefix'),
  };
}

/** The configuration in force; a change applies to new connections immediately. */
export class ClientCas implements ClientTrust {
  readonly #listeners = new Set<() => void>();
  /** Without any authority: no client is trusted. */
  #config = readAuthenticationConfig();
  #known = false;

  /** False until the configuration has been read once. */
  get known(): boolean {
    return this.#known;
  }

  get config(): AuthenticationConfig {
    return this.#config;
  }

  get ca(): string {
    return [this.#config.clientCa, this.#config.frontProxyCa].filter((pem) => pem !== '').join('\n');
  }

  set(config: AuthenticationConfig): void {
    const before = this.ca;
    this.#config = config;
    this.#known = true;
    if (this.ca !== before) for (const listener of this.#listeners) listener();
  }

  onChange(fn: () => void): () => void {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }
}
