import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { deadlineIn, orTimeout, type Deadline } from './deadline.ts';
import type { MinterMetrics } from './metrics.ts';
import { appUnknown, isAppUnknown } from './platform/app-refusal.ts';
import { checkGrant, type Grant } from './platform/grant.ts';
import { InstallationCache, viewOf, type InstallationView } from './platform/installation.ts';
import {
  PlatformUnreachable,
  type PlatformAnswer,
  type PlatformClient,
  type PlatformOperation,
} from './platform/platform-client.ts';
import type { Readiness } from './readiness.ts';
import { noTokenTrace, type TokenTrace } from './token-trace.ts';
import { Refusal, type AnswerCode } from './refusal.ts';
import type { Permissions } from './rules/permissions.ts';
import type { AppJwt, AppJwtSource } from './sign/app-jwt.ts';
import { judgeFailure } from './sign/key-monitor.ts';
import { KeyServiceFailure } from './sign/key-service.ts';

/** A request that the rules allow exactly as it is. */
export interface MintRequest {
  repositories: readonly string[];
  permissions: Permissions;
}

/** Filled in during the mint, so that the audit line of a failure shows how far the mint came. */
export interface MintTrace {
  app_jwt_sha256?: string;
  installation_id?: number;
}

export interface MinterDeps {
  org: string;
  appId: number;
  jwts: AppJwtSource;
  platform: PlatformClient;
  readiness: Readiness;
  metrics: MinterMetrics;
  clock: Clock;
  logger: Logger;
  /**
   * Called when the platform refuses our App JWT and the one that replaced it, or does not know the App: the App has to
   * be checked again.
   */
  onUnauthorized?: () => void;
  /** Called when the key service says that the key cannot be used. */
  onKeyUnusable?: () => void;
}

const revokeMs = 2_000;

/**
 * The outgoing half of a mint: sign → installation → exchange → grant. The grant of a returned token has been compared
 * with the request.
 * Guarantees: nothing is sent unless the key is usable; a token that does not match the request exactly is revoked and
 * never returned; no token is kept.
 * Errors: Refusal.
 */
export class Minter {
  readonly installation: InstallationCache;
  readonly #deps: MinterDeps;
  readonly #notCovered = new Set<string>();

  constructor(deps: MinterDeps) {
    this.#deps = deps;
    this.installation = new InstallationCache(deps.clock);
  }

  async mint(
    request: MintRequest,
    deadline: Deadline,
    trace: MintTrace,
    spans: TokenTrace = noTokenTrace,
  ): Promise<Grant> {
    const { readiness, org, clock } = this.#deps;
    if (readiness.knownUnusable) {
      throw new Refusal('not_ready', 'not_ready', 'the service cannot sign at the moment', { retryAfterSeconds: 30 });
    }
    const session = new Session(this.#deps, deadline, trace, spans);
    const id = await this.#installationId(session);
    trace.installation_id = id;
    const answer = await session.call('create_token', 'exchange_error', {
      installation_id: id,
      repositories: request.repositories,
      permissions: Object.fromEntries(request.permissions),
    });
    if (answer.status !== 201) throw this.#exchangeRefusal(answer, request);
    const grant = checkGrant(answer.data, { org, ...request }, clock.now());
    if ('ok' in grant) {
      readiness.mintSucceeded(id);
      this.#noteInstalled(request.repositories);
      return grant.ok;
    }
    if (grant.token !== undefined) this.#revoke(grant.token);
    const code = grant.mismatch === 'no_token' ? 'exchange_error' : 'grant_mismatch';
    throw new Refusal(code, `grant_${grant.mismatch}`, 'the platform granted something else than was asked');
  }

  async #installationId(session: Session): Promise<number> {
    const { org, appId, metrics } = this.#deps;
    let view = this.installation.get();
    metrics.cacheRequests.inc({ cache: 'installation', result: view ? 'hit' : 'miss' });
    if (!view) {
      const answer = await session.call('get_installation', 'installation_error', { org });
      view = viewOf(answer, org, appId) ?? undefined;
      if (!view) throw installationRefusal(org, `status_${answer.status}`, String(answer.status));
      this.installation.set(view);
    }
    if (view.state === 'found') return view.id;
    throw viewRefusal(org, view);
  }

  /**
   * A token shows that the App is installed, so an earlier answer to the contrary is out of date. Repositories that
   * were refused have to be granted first. A missing permission is left to the next look-up: a token may do without it.
   */
  #noteInstalled(repositories: readonly string[]): void {
    for (const name of repositories) this.#notCovered.delete(name);
    const { readiness, org } = this.#deps;
    const { status, reason } = readiness.get('InstallationFound');
    if (status === 'True' || reason === 'PermissionMissing') return;
    if (reason === 'RepositoryNotSelected' && this.#notCovered.size > 0) return;
    readiness.set('InstallationFound', 'True', 'Found', `the App is installed in ${org}`);
  }

  #exchangeRefusal(answer: PlatformAnswer, request: MintRequest): Refusal {
    const { readiness } = this.#deps;
    const reason = `exchange_${answer.status}`;
    if (answer.status === 404 || answer.status === 403) this.installation.drop();
    if (answer.status !== 422)
      return new Refusal('exchange_error', reason, 'the platform did not exchange the credential');
    const names = request.repositories.join(', ');
    if (this.#notCovered.size < 1_000) for (const name of request.repositories) this.#notCovered.add(name);
    readiness.set(
      'InstallationFound',
      'False',
      'RepositoryNotSelected',
      `the installation does not cover these repositories, or not with these permissions: ${names}`,
    );
    return new Refusal(
      'exchange_error',
      reason,
      `the installation does not cover the repositories asked for, or not with these permissions: ${names}`,
    );
  }

  /** Best effort, after the answer: the token is not returned, so no caller waits for its revocation. */
  #revoke(token: string): void {
    const { platform, clock, logger } = this.#deps;
    platform.call('revoke_token', token, {}, deadlineIn(clock, revokeMs)).then(
      (answer) => logger.warn('token with a wrong grant revoked', { status: answer.status }),
      () => logger.error('token with a wrong grant could not be revoked; it ends by itself within the hour'),
    );
  }
}

/** The calls of one mint: one App JWT, replaced once if the platform does not accept it. */
class Session {
  readonly #deps: MinterDeps;
  readonly #deadline: Deadline;
  readonly #trace: MintTrace;
  readonly #spans: TokenTrace;
  #jwt: AppJwt | undefined;
  #replaced = false;

  constructor(deps: MinterDeps, deadline: Deadline, trace: MintTrace, spans: TokenTrace) {
    this.#deps = deps;
    this.#deadline = deadline;
    this.#trace = trace;
    this.#spans = spans;
  }

  async call(
    operation: PlatformOperation,
    code: AnswerCode,
    parameters: Record<string, unknown>,
  ): Promise<PlatformAnswer> {
    const answer = await this.#once(operation, code, parameters);
    if (isAppUnknown(answer)) {
      this.#deps.onUnauthorized?.();
      throw new Refusal(code, 'app_unknown', appUnknown);
    }
    if (answer.status !== 401) return limited(answer);
    this.#deps.jwts.drop(this.#jwt!);
    this.#jwt = undefined;
    if (!this.#replaced) {
      this.#replaced = true;
      return this.call(operation, code, parameters);
    }
    this.#deps.onUnauthorized?.();
    return limited(answer);
  }

  async #once(
    operation: PlatformOperation,
    code: AnswerCode,
    parameters: Record<string, unknown>,
  ): Promise<PlatformAnswer> {
    const jwt = (this.#jwt ??= await this.#spans.step('sign', () => this.#sign()));
    this.#trace.app_jwt_sha256 = jwt.sha256;
    const late = (): Refusal => new Refusal(code, 'deadline', 'the platform did not answer in time');
    try {
      return await this.#spans.step(`platform ${operation}`, () => {
        const work = this.#deps.platform.call(operation, jwt.token, parameters, this.#deadline);
        return orTimeout(this.#deps.clock, this.#deadline, work, late);
      });
    } catch (error) {
      if (!(error instanceof PlatformUnreachable)) throw error;
      throw new Refusal(code, `platform_${error.kind}`, 'the platform did not answer in time, or not as agreed', {
        cause: error,
      });
    }
  }

  async #sign(): Promise<AppJwt> {
    const { jwts, clock, readiness, onKeyUnusable } = this.#deps;
    const late = (): Refusal => signerRefusal('deadline');
    try {
      return await orTimeout(clock, this.#deadline, jwts.get(this.#deadline), late);
    } catch (error) {
      if (!(error instanceof KeyServiceFailure)) throw error;
      const verdict = judgeFailure(error);
      if (verdict) {
        readiness.set('KeyEnabled', verdict.status, verdict.reason, verdict.message);
        onKeyUnusable?.();
      }
      throw signerRefusal(error.kind, error);
    }
  }
}

function limited(answer: PlatformAnswer): PlatformAnswer {
  if (answer.retryAfterSeconds === undefined) return answer;
  throw new Refusal('platform_rate_limited', 'platform_rate_limited', 'the platform limits our requests', {
    retryAfterSeconds: answer.retryAfterSeconds,
  });
}

function signerRefusal(kind: string, cause?: unknown): Refusal {
  return new Refusal('signer_unavailable', `signer_${kind}`, 'the key service did not sign', {
    retryAfterSeconds: 1,
    cause,
  });
}

function installationRefusal(org: string, reason: string, detail: string): Refusal {
  return new Refusal(
    'installation_error',
    `installation_${reason}`,
    `errors retrieving installation for ${org}: ${detail}`,
  );
}

const absentDetail = '404: either it is a personal account and no organisation, or the App is not installed in it';

function viewRefusal(org: string, view: Exclude<InstallationView, { state: 'found' }>): Refusal {
  const details = {
    absent: absentDetail,
    personal: 'it is installed on a personal account, which is not supported (as for a 404)',
    other_account: 'the platform answered for another account',
    suspended: 'the installation is suspended',
    other_app: 'the platform answered for another App',
    malformed: 'the answer is not as agreed',
  };
  return installationRefusal(org, view.state, details[view.state]);
}
