import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { MinterWorld } from './world.ts';

/**
 * Lets a demo control the services around a minter (key service, platform, issuer of identity tokens) over plain HTTP:
 * - `GET /identity?email=…&audience=…` returns an identity token, as the metadata server of a cloud does.
 *   `claims=<JSON object>` adds or replaces claims; `expired=true` makes the token expired.
 * - `GET /counts` returns how many calls reached the key service, the platform and the issuer.
 * - `POST /faults` `{"kms":{…},"platform":{"create_token":{…}},"jwks":{…}}` sets faults, until `{}` is posted.
 * - `POST /key` `{"state":"DISABLED"}` sets the state of the key version in use.
 */
export function createControlServer(world: MinterWorld): Server {
  return createServer((req, res) => {
    serve(world, req, res).catch((error: unknown) => {
      res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: String(error) }));
    });
  });
}

async function serve(world: MinterWorld, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://control');
  const route = `${req.method} ${url.pathname}`;
  if (route === 'GET /identity') return void res.end(identity(world, url.searchParams));
  if (route === 'GET /counts') return json(res, counts(world));
  if (route === 'POST /faults') {
    const faults = (await body(req)) as { kms?: object; platform?: Record<string, object>; jwks?: object };
    world.kms.faults = faults.kms ?? {};
    world.platform.faults.clear();
    for (const [name, fault] of Object.entries(faults.platform ?? {}))
      world.platform.faults.set(name as 'get_app', fault);
    world.issuer.fault = faults.jwks as typeof world.issuer.fault;
    return json(res, { ok: true });
  }
  if (route === 'POST /key') {
    const { state } = (await body(req)) as { state: 'ENABLED' };
    world.kms.version(world.keyVersion).state = state;
    return json(res, { keyVersion: world.keyVersion, state });
  }
  res.writeHead(404).end();
}

function identity(world: MinterWorld, query: URLSearchParams): string {
  const email = query.get('email');
  const audience = query.get('audience');
  if (!email || !audience) throw new Error('email and audience are required');
  const more = JSON.parse(query.get('claims') ?? '{}') as Record<string, unknown>;
  const now = Math.floor(Date.now() / 1000);
  const old = query.get('expired') === 'true' ? { iat: now - 7200, exp: now - 3600 } : {};
  return world.issuer.token(email, audience, { ...old, ...more });
}

function counts(world: MinterWorld): Record<string, number> {
  const { kms, platform, issuer } = world;
  return {
    kmsSigns: kms.count('AsymmetricSign'),
    platformCalls: platform.appCalls,
    tokens: platform.count('create_token'),
    jwksFetches: issuer.hits,
  };
}

function json(res: ServerResponse, value: unknown): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify(value)}\n`);
}

async function body(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString() || '{}');
}
