import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import type { AddressInfo } from 'node:net';

export interface FakeIssuerOptions {
  /** The server's certificate. Default: plain HTTP. */
  tls?: { cert: string; key: string };
  host?: string;
  port?: number;
  /** The `iss` of its tokens; default: its own URL. */
  issuer?: string;
  /** The host in its URL; default 127.0.0.1. */
  publicHost?: string;
  /** Wall time in ms. */
  now?: () => number;
  /** The first one signs; others are not used. Default: a new RSA key, which takes long to make. */
  keys?: readonly KeyObject[];
}

/** An answer of the key-set endpoint in place of the key set. */
export type JwksFault =
  | { status: number; headers?: Record<string, string>; body?: string }
  | { hang: true }
  | { body: string; contentType?: string; endless?: boolean };

interface SigningKey {
  kid: string;
  privateKey: KeyObject;
}

/** An identity issuer for tests. Its key set can rotate, fail, and count requests; its tokens carry any claims. */
export class FakeIssuer {
  /** Requests for the key set so far. */
  hits = 0;
  fault: JwksFault | undefined;
  /** Extra members of the key set, sent unchanged. */
  extraKeys: unknown[] = [];
  readonly issuer: string;
  readonly jwksUri: string;
  readonly #keys: SigningKey[];
  readonly #now: () => number;
  readonly #close: () => Promise<void>;

  private constructor(parts: {
    issuer: string;
    jwksUri: string;
    keys: SigningKey[];
    now: () => number;
    close: () => Promise<void>;
  }) {
    this.issuer = parts.issuer;
    this.jwksUri = parts.jwksUri;
    this.#keys = parts.keys;
    this.#now = parts.now;
    this.#close = parts.close;
  }

  static async start(options: FakeIssuerOptions = {}): Promise<FakeIssuer> {
    const handle = (req: IncomingMessage, res: ServerResponse): void => issuer.#serve(req, res);
    const server = options.tls ? createHttpsServer(options.tls, handle) : createServer(handle);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    const base = `${options.tls ? 'https' : 'http'}://${options.publicHost ?? '127.0.0.1'}:${port}`;
    const [first = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey] = options.keys ?? [];
    const issuer: FakeIssuer = new FakeIssuer({
      issuer: options.issuer ?? base,
      jwksUri: `${base}/certs`,
      keys: [{ kid: 'key-1', privateKey: first }],
      now: options.now ?? Date.now,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    });
    return issuer;
  }

  stop(): Promise<void> {
    return this.#close();
  }

  /** Signs with another key from now on. With `keepOld` the old key stays in the key set. */
  rotate(privateKey: KeyObject, options: { kid: string; keepOld: boolean }): void {
    if (!options.keepOld) this.#keys.length = 0;
    this.#keys.unshift({ kid: options.kid, privateKey });
  }

  get signingKey(): SigningKey {
    return this.#keys[0]!;
  }

  /** The claims of a valid token for a cloud service account. The token lives one hour. */
  claims(email: string, audience: string, more: Record<string, unknown> = {}): Record<string, unknown> {
    const iat = Math.floor(this.#now() / 1000);
    const sub = String(parseInt(Buffer.from(email).toString('hex').slice(0, 12), 16));
    return {
      iss: this.issuer,
      aud: audience,
      azp: sub,
      sub,
      email,
      email_verified: true,
      iat,
      exp: iat + 3600,
      ...more,
    };
  }

  /** A valid token. */
  token(email: string, audience: string, more: Record<string, unknown> = {}): string {
    return this.sign(this.claims(email, audience, more));
  }

  /** A token of exactly these claims and header. `claims` may be raw JSON, for what JSON.stringify cannot express. */
  sign(claims: Record<string, unknown> | string, header: Record<string, unknown> = {}): string {
    const { kid, privateKey } = this.signingKey;
    const head = JSON.stringify({ alg: 'RS256', kid, typ: 'JWT', ...header });
    const body = typeof claims === 'string' ? claims : JSON.stringify(claims);
    const signed = `${Buffer.from(head).toString('base64url')}.${Buffer.from(body).toString('base64url')}`;
    return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    if (req.url !== '/certs') {
      res.writeHead(404).end();
      return;
    }
    this.hits++;
    const { fault } = this;
    if (fault && 'hang' in fault) return;
    if (fault && 'status' in fault) {
      res.writeHead(fault.status, fault.headers ?? {}).end(fault.body ?? '');
    } else if (fault) {
      res.writeHead(200, { 'content-type': fault.contentType ?? 'application/json' });
      if (fault.endless) pour(res, fault.body);
      else res.end(fault.body);
    } else {
      res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'public, max-age=20000' });
      res.end(JSON.stringify({ keys: [...this.#keys.map(publicJwk), ...this.extraKeys] }));
    }
  }
}

function publicJwk({ kid, privateKey }: SigningKey): Record<string, unknown> {
  const { n, e } = privateKey.export({ format: 'jwk' });
  return { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e };
}

function pour(res: ServerResponse, chunk: string): void {
  const write = (): void => {
    if (res.destroyed) return;
    if (res.write(chunk)) setImmediate(write);
    else res.once('drain', write);
  };
  res.on('error', () => {});
  write();
}
