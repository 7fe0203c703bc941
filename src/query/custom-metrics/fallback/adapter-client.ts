import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { type Clock, sleep } from '../../../base/clock.ts';
import { errorText, isOperatorError } from '../../../base/errors.ts';
import { TlsClient, type TlsResponse } from '../../../net/tls-client.ts';
import type { TlsMaterial, TlsSource } from '../../../net/tls-material.ts';
import { AdapterFailure } from './adapter-failure.ts';
import { fallbackHeader } from './passed-on.ts';

/**
 * The CAs in a file, which a client trusts. There is no client certificate, because a token authenticates the client.
 * `refresh` reads the file again, so that a rotation applies from the next request on.
 */
class TrustedFile implements TlsSource {
  readonly #path: string;
  current: TlsMaterial = { cert: '', key: '', ca: '' };
  generation = 0;

  /** Without a path the system's CAs apply. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Errors: the file cannot be read or contains no certificate; its former content then stays in force. */
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

export interface AdapterClientOptions {
  /** The adapter's address: `https://host[:port][/prefix]`. */
  readonly url: string;
  /** File with the CAs that the adapter's certificate is verified against; empty: the system's. */
  readonly caFile: string;
  /** File with the bearer token; empty: none is sent. */
  readonly tokenFile: string;
  readonly clock: Clock;
  /** Deadline of one request, its retry included. Units: ms. */
  readonly deadlineMs: number;
}

export interface AdapterAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** Most concurrent requests: the requests of autoscalers must not pile up when the adapter hangs. */
const maxUnderWay = 64;
/** Time before the one retry. Units: ms. */
const pauseMs = 200;
const passing = [429, 502, 503, 504];

/**
 * Sends requests to the second adapter (the one that serves the metrics that we do not know) under our own identity:
 * none of the caller's headers are forwarded. Files are read for each request, so tokens and CAs may be rotated.
 * Retry: once, for a connection that fails or an answer of 429, 502, 503 or 504; within the deadline.
 * Errors: AdapterFailure `timeout`, `unreachable`, `invalid` (too large), `busy`.
 */
export class AdapterClient {
  /** The adapter's name in messages. */
  readonly name: string;
  readonly #options: AdapterClientOptions;
  readonly #url: URL;
  readonly #trusted: TrustedFile;
  readonly #client: TlsClient;
  readonly #closed = new AbortController();
  #underWay = 0;

  constructor(options: AdapterClientOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    this.name = this.#url.origin;
    this.#trusted = new TrustedFile(options.caFile);
    this.#client = new TlsClient(this.#trusted);
  }

  /** `path` includes the query string. `maxBytes` caps the answer. */
  async get(path: string, maxBytes: number): Promise<AdapterAnswer> {
    if (this.#underWay >= maxUnderWay) {
      throw new AdapterFailure('busy', `${maxUnderWay} of our requests to it are in flight already`);
    }
    this.#underWay++;
    try {
      return await this.#get(path, maxBytes);
    } finally {
      this.#underWay--;
    }
  }

  /** Aborts the requests in flight. */
  close(): void {
    this.#closed.abort();
    this.#client.close();
  }

  async #get(path: string, maxBytes: number): Promise<AdapterAnswer> {
    const { clock, deadlineMs } = this.#options;
    const latest = clock.monotonic() + deadlineMs;
    const left = (): number => latest - clock.monotonic();
    for (let attempt = 0; ; attempt++) {
      const mayRepeat = attempt === 0 && left() > pauseMs;
      try {
        const answer = await this.#once(path, maxBytes, Math.max(1, left()));
        if (!mayRepeat || !passing.includes(answer.status)) return answer;
      } catch (error) {
        if (!mayRepeat || !isOperatorError(error, 'ERR_AGENT_UNREACHABLE')) throw asFailure(error, deadlineMs);
      }
      await sleep(clock, Math.min(pauseMs, Math.max(0, left())));
    }
  }

  async #once(path: string, maxBytes: number, deadlineMs: number): Promise<TlsResponse> {
    const { hostname, port, pathname } = this.#url;
    const host = hostname.replace(/^\[|\]$/g, '');
    return this.#client.request({
      host,
      port: port === '' ? 443 : Number(port),
      // An IP address is not sent as a server name: the certificate is then verified for the address.
      servername: isIP(host) === 0 ? host : '',
      method: 'GET',
      path: `${pathname.replace(/\/+$/, '')}${path}`,
      headers: await this.#headers(),
      deadlineMs,
      maxBytes,
      signal: this.#closed.signal,
      repeatable: true,
    });
  }

  async #headers(): Promise<Record<string, string>> {
    const { tokenFile } = this.#options;
    const headers = { accept: 'application/json', 'user-agent': 'svc-query', [fallbackHeader]: '1' };
    try {
      await this.#trusted.refresh();
      if (tokenFile === '') return headers;
      return { ...headers, authorization: `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}` };
    } catch (cause) {
      throw new AdapterFailure('unreachable', `it cannot be asked: ${errorText(cause)}`, { cause });
    }
  }
}

function asFailure(cause: unknown, deadlineMs: number): AdapterFailure {
  if (cause instanceof AdapterFailure) return cause;
  if (isOperatorError(cause, 'ERR_TIMEOUT')) {
    return new AdapterFailure('timeout', `no answer within ${deadlineMs / 1000} s`, { cause });
  }
  if (isOperatorError(cause, 'ERR_TOO_LARGE')) {
    return new AdapterFailure('invalid', 'its answer is too large', { cause });
  }
  return new AdapterFailure('unreachable', errorText(cause), { cause });
}
