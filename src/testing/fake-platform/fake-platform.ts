import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { appAnswer, installationAnswer, repositoryAnswers, tokenAnswer, type TokenRequest } from './answers.ts';
import { gitService, type GitOptions } from './git-service.ts';
import { PlatformAnswerError, PlatformState, type AccessLevel } from './platform-state.ts';

export type PlatformRoute =
  | 'get_app'
  | 'get_installation'
  | 'get_user_installation'
  | 'create_token'
  | 'revoke_token'
  | 'list_repositories'
  | 'issues'
  | 'pulls'
  | 'git';

/**
 * How a route misbehaves: it answers something else, late or never, or `change` edits the computed answer. Without
 * `times`, the fault stays until it is cleared.
 */
export interface PlatformFault {
  times?: number;
  status?: number;
  headers?: Record<string, string>;
  /** A string is sent unchanged, any other value as JSON. */
  body?: unknown;
  hang?: boolean;
  drop?: boolean;
  delayMs?: number;
  change?: (body: Record<string, unknown>) => unknown;
}

export interface FakePlatformOptions {
  tls?: { cert: string; key: string };
  host?: string;
  port?: number;
  publicHost?: string;
  /** Prefix of the API, e.g. `/api/v3` as on an enterprise host. */
  basePath?: string;
  now?: () => number;
  /** Where bare git repositories live as `<owner>/<name>.git`; absent: git requests get stub answers. */
  git?: GitOptions;
}

interface Reply {
  status: number;
  body: unknown;
}

/** A code-hosting platform with Apps: the routes that the minter calls, and routes that accept the minter's tokens. */
export class FakePlatform {
  readonly state: PlatformState;
  readonly apiBaseUrl: string;
  readonly gitBaseUrl: string;
  readonly faults = new Map<PlatformRoute, PlatformFault>();
  /** Every request so far. Bodies of git requests are left out. */
  readonly requests: { route: PlatformRoute | 'unknown'; body: string; authorization: string }[] = [];
  readonly #options: FakePlatformOptions;
  readonly #close: () => Promise<void>;

  private constructor(options: FakePlatformOptions, base: string, close: () => Promise<void>) {
    this.#options = options;
    this.state = new PlatformState(options.now ?? Date.now);
    this.gitBaseUrl = base;
    this.apiBaseUrl = `${base}${options.basePath ?? ''}`;
    this.#close = close;
  }

  static async start(options: FakePlatformOptions = {}): Promise<FakePlatform> {
    const handle: RequestListener = (req, res) => void platform.#serve(req, res);
    const server = options.tls ? createHttpsServer(options.tls, handle) : createServer(handle);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    const base = `${options.tls ? 'https' : 'http'}://${options.publicHost ?? '127.0.0.1'}:${port}`;
    const platform: FakePlatform = new FakePlatform(options, base, () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    });
    return platform;
  }

  stop(): Promise<void> {
    return this.#close();
  }

  count(route: PlatformRoute): number {
    return this.requests.filter((r) => r.route === route).length;
  }

  /** How many requests have arrived so far, on any route. */
  get appCalls(): number {
    return this.requests.length;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.on('error', () => {});
    const url = new URL(req.url ?? '/', 'http://platform');
    const git = /^\/([^/]+)\/([^/]+)\.git\/(.+)$/.exec(url.pathname);
    if (git) return this.#serveGit(req, res, url, git[1]!, git[2]!, git[3]!);
    const body = await readAll(req);
    const { route, answer } = this.#route(req, url.pathname, body);
    this.requests.push({ route, body, authorization: req.headers.authorization ?? '' });
    const fault = route === 'unknown' ? undefined : this.#takeFault(route);
    if (fault?.hang) return;
    if (fault?.drop) return void req.socket.destroy();
    if (fault?.delayMs) await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'x-ratelimit-remaining': '4999',
      ...fault?.headers,
    };
    const reply =
      fault?.status === undefined
        ? compute(answer)
        : { status: fault.status, body: fault.body ?? { message: 'fault' } };
    if (fault?.change) reply.body = fault.change(reply.body as Record<string, unknown>);
    if (reply.status === 204) return void res.writeHead(204).end();
    res.writeHead(reply.status, headers).end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
  }

  #takeFault(route: PlatformRoute): PlatformFault | undefined {
    const fault = this.faults.get(route);
    if (fault?.times !== undefined && --fault.times <= 0) this.faults.delete(route);
    return fault;
  }

  #route(
    req: IncomingMessage,
    pathname: string,
    body: string,
  ): { route: PlatformRoute | 'unknown'; answer: () => Reply } {
    const prefix = this.#options.basePath ?? '';
    const path = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : '';
    const { authorization } = req.headers;
    const { state } = this;
    const table: [PlatformRoute, string, RegExp, (match: RegExpExecArray) => Reply][] = [
      ['get_app', 'GET', /^\/app$/, () => ok(appAnswer(state.authenticateApp(authorization).id))],
      [
        'get_installation',
        'GET',
        /^\/orgs\/([^/]+)\/installation$/,
        (m) => this.#installation(authorization, m[1]!, 'Organization'),
      ],
      [
        'get_user_installation',
        'GET',
        /^\/users\/([^/]+)\/installation$/,
        (m) => this.#installation(authorization, m[1]!, 'User'),
      ],
      [
        'create_token',
        'POST',
        /^\/app\/installations\/(\d+)\/access_tokens$/,
        (m) => this.#createToken(authorization, Number(m[1]), body),
      ],
      [
        'revoke_token',
        'DELETE',
        /^\/installation\/token$/,
        () => {
          state.tokens.delete(state.authenticateToken(authorization).token);
          return { status: 204, body: undefined };
        },
      ],
      [
        'list_repositories',
        'GET',
        /^\/installation\/repositories$/,
        () => {
          const issued = state.authenticateToken(authorization);
          return ok({ total_count: issued.repositories.length, repositories: repositoryAnswers(issued) });
        },
      ],
      ['issues', '*', /^\/repos\/([^/]+)\/([^/]+)\/issues$/, (m) => this.#items(req, 'issues', m[1]!, m[2]!, body)],
      ['pulls', '*', /^\/repos\/([^/]+)\/([^/]+)\/pulls$/, (m) => this.#items(req, 'pulls', m[1]!, m[2]!, body)],
    ];
    for (const [route, method, pattern, answer] of table) {
      const match = pattern.exec(decodeURIComponent(path));
      if (match && (method === '*' || method === req.method)) return { route, answer: () => answer(match) };
    }
    return { route: 'unknown', answer: () => ({ status: 404, body: { message: 'Not Found' } }) };
  }

  #installation(authorization: string | undefined, login: string, type: 'Organization' | 'User'): Reply {
    const app = this.state.authenticateApp(authorization);
    const found = this.state.installationOf(login, app.id, type);
    const account = this.state.accounts.get(found.account.toLowerCase())!;
    return ok(installationAnswer(found, account));
  }

  #createToken(authorization: string | undefined, id: number, body: string): Reply {
    const app = this.state.authenticateApp(authorization);
    const issued = this.state.issueToken(id, app.id, JSON.parse(body || '{}') as TokenRequest);
    return { status: 201, body: tokenAnswer(issued) };
  }

  #items(req: IncomingMessage, kind: 'issues' | 'pulls', owner: string, name: string, body: string): Reply {
    const permission = kind === 'issues' ? 'issues' : 'pull_requests';
    const level: AccessLevel = req.method === 'GET' ? 'read' : 'write';
    this.state.authorize(req.headers.authorization, owner, name, permission, level);
    const list = this.state[kind];
    const repository = `${owner}/${name}`;
    if (level === 'read') return ok(list.filter((item) => item.repository === repository));
    const { title } = JSON.parse(body || '{}') as { title?: string };
    if (!title) throw new PlatformAnswerError(422, 'Validation Failed');
    list.push({ repository, title });
    return { status: 201, body: { number: list.length, title } };
  }

  async #serveGit(
    req: IncomingMessage,
    res: ServerResponse,
    url: URL,
    owner: string,
    name: string,
    rest: string,
  ): Promise<void> {
    this.requests.push({ route: 'git', body: '', authorization: req.headers.authorization ?? '' });
    const pushes = rest === 'git-receive-pack' || url.searchParams.get('service') === 'git-receive-pack';
    try {
      this.state.authorize(req.headers.authorization, owner, name, 'contents', pushes ? 'write' : 'read');
    } catch (error) {
      if (!(error instanceof PlatformAnswerError)) throw error;
      const challenge: Record<string, string> = error.status === 401 ? { 'www-authenticate': 'Basic realm="git"' } : {};
      return void res.writeHead(error.status, challenge).end(error.message);
    }
    if (this.#options.git) return gitService(this.#options.git, req, res, url);
    res.writeHead(200, { 'content-type': 'text/plain' }).end(pushes ? 'may push\n' : 'may fetch\n');
  }
}

function ok(body: unknown): Reply {
  return { status: 200, body };
}

function compute(answer: () => Reply): Reply {
  try {
    return answer();
  } catch (error) {
    if (error instanceof PlatformAnswerError) return { status: error.status, body: { message: error.message } };
    return { status: 400, body: { message: 'Problems parsing JSON' } };
  }
}

async function readAll(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
