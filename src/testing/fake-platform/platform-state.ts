import { createPublicKey, randomBytes, verify, type KeyObject } from 'node:crypto';

export type AccessLevel = 'read' | 'write' | 'admin';

export interface FakeInstallation {
  id: number;
  account: string;
  appId: number;
  /** Names of the repositories selected for the App; absent: all of the account. */
  selected?: string[];
  permissions: Record<string, AccessLevel>;
  suspended: boolean;
}

export interface IssuedToken {
  token: string;
  installation: FakeInstallation;
  repositories: string[];
  permissions: Record<string, AccessLevel>;
  expiresAtMs: number;
}

/** An answer with status and JSON body; thrown when a rule of the platform refuses the request. */
export class PlatformAnswerError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const maxRepositories = 500;
const maxJwtSpanSeconds = 600;
const tokenLifeMs = 3_600_000;
const rank: readonly string[] = ['read', 'write', 'admin'];

/** Accounts, repositories, Apps with their installations, and the tokens that were issued to them. */
export class PlatformState {
  readonly accounts = new Map<string, { login: string; type: 'Organization' | 'User'; repositories: Set<string> }>();
  readonly apps: { id: number; publicKey: KeyObject }[] = [];
  readonly installations: FakeInstallation[] = [];
  readonly tokens = new Map<string, IssuedToken>();
  readonly issues: { repository: string; title: string }[] = [];
  readonly pulls: { repository: string; title: string }[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  addAccount(login: string, type: 'Organization' | 'User', repositories: readonly string[]): void {
    this.accounts.set(login.toLowerCase(), { login, type, repositories: new Set(repositories) });
  }

  addApp(id: number, key: KeyObject): void {
    this.apps.push({ id, publicKey: createPublicKey(key) });
  }

  install(options: Partial<FakeInstallation> & { account: string; appId: number }): FakeInstallation {
    const installation: FakeInstallation = {
      id: 5000 + this.installations.length,
      permissions: { contents: 'write', pull_requests: 'write', issues: 'write', metadata: 'read' },
      suspended: false,
      ...options,
    };
    this.installations.push(installation);
    return installation;
  }

  /** The App whose key signed this JWT. The signature, issuer, times and life span are verified. */
  authenticateApp(authorization: string | undefined): { id: number } {
    const jwt = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1] ?? '';
    const [head, body, signature] = jwt.split('.');
    const refuse = (why: string): PlatformAnswerError => new PlatformAnswerError(401, why);
    if (!head || !body || !signature) throw refuse('A JSON web token could not be decoded');
    let header: { alg?: unknown };
    let claims: { iss?: unknown; iat?: unknown; exp?: unknown };
    try {
      header = JSON.parse(Buffer.from(head, 'base64url').toString()) as typeof header;
      claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as typeof claims;
    } catch {
      throw refuse('A JSON web token could not be decoded');
    }
    const { iss, iat, exp } = claims;
    const now = this.#now() / 1000;
    if (header.alg !== 'RS256' || typeof iat !== 'number' || typeof exp !== 'number') throw refuse('Bad credentials');
    if (iat > now + 5) {
      throw refuse("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued");
    }
    if (exp <= now) {
      throw refuse(
        "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
      );
    }
    if (exp - iat > maxJwtSpanSeconds) throw refuse("'Expiration time' claim ('exp') is too far in the future");
    const app = this.apps.find((a) => String(a.id) === String(iss));
    if (!app) throw new PlatformAnswerError(404, 'Integration not found');
    if (!verify('sha256', Buffer.from(`${head}.${body}`), app.publicKey, Buffer.from(signature, 'base64url'))) {
      throw refuse('A JSON web token could not be decoded');
    }
    return { id: app.id };
  }

  installationOf(login: string, appId: number, type: 'Organization' | 'User'): FakeInstallation {
    const account = this.accounts.get(login.toLowerCase());
    const found = this.installations.find((i) => i.account.toLowerCase() === login.toLowerCase() && i.appId === appId);
    if (!account || account.type !== type || !found) throw new PlatformAnswerError(404, 'Not Found');
    return found;
  }

  /** Issues a token for an hour and a subset of repositories and permissions. At most 500 repositories can be named. */
  issueToken(
    id: number,
    appId: number,
    wanted: { repositories?: string[]; permissions?: Record<string, string> },
  ): IssuedToken {
    const installation = this.installations.find((i) => i.id === id && i.appId === appId);
    if (!installation) throw new PlatformAnswerError(404, 'Not Found');
    if (installation.suspended) throw new PlatformAnswerError(403, 'This installation has been suspended');
    const account = this.accounts.get(installation.account.toLowerCase())!;
    const reachable = installation.selected ?? [...account.repositories];
    if ((wanted.repositories?.length ?? 0) > maxRepositories)
      throw new PlatformAnswerError(422, 'Too many repositories');
    const repositories = (wanted.repositories ?? reachable).map((name) => {
      const real = reachable.find((r) => r.toLowerCase() === name.toLowerCase());
      if (real === undefined) {
        throw new PlatformAnswerError(422, 'There is at least one repository that does not exist or is not accessible');
      }
      return real;
    });
    const permissions = (wanted.permissions ?? installation.permissions) as Record<string, AccessLevel>;
    for (const [name, level] of Object.entries(permissions)) {
      const ceiling = Object.hasOwn(installation.permissions, name) ? installation.permissions[name]! : '';
      if (!rank.includes(level) || rank.indexOf(level) > rank.indexOf(ceiling)) {
        throw new PlatformAnswerError(422, 'The permissions requested are not granted to this installation.');
      }
    }
    const issued: IssuedToken = {
      token: `ghs_${randomBytes(27).toString('base64url')}`,
      installation,
      repositories,
      permissions: { metadata: 'read', ...permissions },
      expiresAtMs: this.#now() + tokenLifeMs,
    };
    this.tokens.set(issued.token, issued);
    return issued;
  }

  /** The unexpired token of a request, from `Bearer`, `token` or Basic authorisation. */
  authenticateToken(authorization: string | undefined): IssuedToken {
    const [, scheme = '', value = ''] = /^(\S+) (.+)$/.exec(authorization ?? '') ?? [];
    const text = /^basic$/i.test(scheme) ? Buffer.from(value, 'base64').toString().split(':')[1] : value;
    const issued = this.tokens.get(text ?? '');
    if (!issued || issued.expiresAtMs <= this.#now()) throw new PlatformAnswerError(401, 'Bad credentials');
    return issued;
  }

  /** Returns the token of a request. Throws unless it grants at least this level of a permission on the repository. */
  authorize(
    authorization: string | undefined,
    owner: string,
    repository: string,
    name: string,
    level: AccessLevel,
  ): IssuedToken {
    const issued = this.authenticateToken(authorization);
    const covers =
      issued.installation.account.toLowerCase() === owner.toLowerCase() &&
      issued.repositories.some((r) => r.toLowerCase() === repository.toLowerCase());
    if (!covers) throw new PlatformAnswerError(404, 'Not Found');
    const held = Object.hasOwn(issued.permissions, name) ? issued.permissions[name]! : '';
    if (rank.indexOf(held) < rank.indexOf(level))
      throw new PlatformAnswerError(403, 'Resource not accessible by integration');
    return issued;
  }
}
