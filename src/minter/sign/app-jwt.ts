import { sha256Hex } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { deadlineIn, type Deadline } from '../deadline.ts';
import type { KmsSigner } from './kms-signer.ts';

/** A signed JWT of the GitHub App, and the hash that identifies it in logs. */
export interface AppJwt {
  token: string;
  sha256: string;
}

export interface AppJwtOptions {
  appId: number;
  signer: Pick<KmsSigner, 'sign' | 'version'>;
  /** 0: every call of `get` signs a new JWT. */
  reuseSeconds: number;
  clock: Clock;
  logger: Logger;
}

/** `iat` is before now, `exp` after. GitHub accepts at most 600 s between them, and small differences of clocks. */
const backdateSeconds = 30;
const lifeSeconds = 540;
const signBudgetMs = 3_200;

/** Whether a JWT that is signed at the wall time `signedMs` of this node is in force at the time `atMs` of GitHub's. */
export function isInForce(signedMs: number, atMs: number): boolean {
  return atMs >= signedMs - backdateSeconds * 1_000 && atMs < signedMs + lifeSeconds * 1_000;
}

/**
 * The App's own credential for GitHub: a JWT that the key service signs and that is reused for a while.
 * Guarantees, unless `reuseSeconds` is 0: one JWT is signed at a time; the next one is signed ahead of time, so that
 * only the first minted token waits for a signature; a JWT is not reused past `reuseSeconds`, nor, when the clock
 * jumps, in the last minute before its `exp`.
 */
export class AppJwtSource {
  readonly #options: AppJwtOptions;
  #current: { jwt: AppJwt; signedAt: number; expiresAtMs: number } | undefined;
  #signing: Promise<AppJwt> | undefined;

  constructor(options: AppJwtOptions) {
    this.#options = options;
  }

  /** Errors: KeyServiceFailure. */
  async get(deadline: Deadline): Promise<AppJwt> {
    const { reuseSeconds, clock } = this.#options;
    if (reuseSeconds === 0) return this.#sign(deadline);
    const age = this.#current ? clock.monotonic() - this.#current.signedAt : Number.POSITIVE_INFINITY;
    const usable = age < reuseSeconds * 1000 && clock.now() < (this.#current?.expiresAtMs ?? 0) - 60_000;
    if (!usable) return this.#renew();
    if (age >= reuseSeconds * 800) void this.#renew().catch(() => {});
    return this.#current!.jwt;
  }

  /**
   * To be called when GitHub refused this JWT: the next `get` signs a new one. No effect when another request has
   * already renewed it.
   */
  drop(jwt: AppJwt): void {
    if (this.#current?.jwt === jwt) this.#current = undefined;
  }

  /** Renews the JWT for all requests that wait for it, with a time limit of its own: their deadlines differ. */
  #renew(): Promise<AppJwt> {
    this.#signing ??= this.#sign(deadlineIn(this.#options.clock, signBudgetMs)).finally(
      () => (this.#signing = undefined),
    );
    return this.#signing;
  }

  async #sign(deadline: Deadline): Promise<AppJwt> {
    const { appId, signer, clock, logger } = this.#options;
    const signedAt = clock.monotonic();
    const nowSeconds = Math.floor(clock.now() / 1000);
    const claims = { iss: String(appId), iat: nowSeconds - backdateSeconds, exp: nowSeconds + lifeSeconds };
    const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
    const signature = await signer.sign(Buffer.from(signed), deadline);
    const token = `${signed}.${Buffer.from(signature).toString('base64url')}`;
    const jwt = { token, sha256: sha256Hex(token) };
    this.#current = { jwt, signedAt, expiresAtMs: claims.exp * 1000 };
    logger.info('app jwt signed', { app_jwt_sha256: jwt.sha256, key_version: signer.version });
    return jwt;
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
