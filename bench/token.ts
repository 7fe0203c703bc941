import { spawn } from 'node:child_process';
import { sign } from 'node:crypto';
import { once } from 'node:events';
import { Pool } from 'undici';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/logger.ts';
import { Jwks } from '../src/minter/identity/jwks.ts';
import { verifyIdentity } from '../src/minter/identity/verify.ts';
import { testKey } from '../src/testing/minter-world/keys.ts';
import {
  agentEmail,
  agentRules,
  audience,
  startMinterWorld,
  type MinterWorld,
} from '../src/testing/minter-world/world.ts';

/**
 * The minter in a process of its own, in front of fakes with fixed latencies: mints and refusals per second and per
 * CPU second, latencies, what a mint costs on top of the platform, and what verifying one token costs.
 *   node bench/token.ts [--quick]
 * One JSON object a line on stdout; progress on stderr.
 */
const quick = process.argv.includes('--quick');
const seconds = quick ? 1 : 8;
const platformMs = 40;
const kmsMs = 20;

interface Load {
  perSecond: number;
  perCpuSecond: number;
  p50: number;
  p99: number;
  statuses: Map<number, number>;
}

function print(name: string, unit: string, ours: number, goal: number | null = null, atMost = true): void {
  const met = goal === null ? null : atMost ? ours <= goal : ours >= goal;
  const rounded = Number(ours.toPrecision(4));
  process.stdout.write(`${JSON.stringify({ name, unit, ours: rounded, peer: null, ratio: null, goal, met })}\n`);
}

/** Starts the real command; resolves with its ports once both listen. */
async function startMinter(world: MinterWorld): Promise<{ url: string; adminUrl: string; stop: () => Promise<void> }> {
  const child = spawn(process.execPath, ['src/bin/minter.ts', 'server', 'run'], {
    env: {
      ...process.env,
      ...world.env,
      AUDIENCES: audience,
      BIND_ADDRESS: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      RATE_LIMIT_PER_MINUTE: '60000',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let buffered = '';
  const ports = await new Promise<{ port: number; adminPort: number }>((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`minter ended with ${code}: ${buffered}`)));
    child.stderr.on('data', (chunk: Buffer) => {
      buffered += chunk.toString();
      const line = buffered.split('\n').find((l) => l.includes('"minter started"'));
      if (line) resolve(JSON.parse(line) as { port: number; adminPort: number });
      if (buffered.length > 100_000) buffered = '';
    });
  });
  return {
    url: `http://127.0.0.1:${ports.port}`,
    adminUrl: `http://127.0.0.1:${ports.adminPort}`,
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function cpuSeconds(adminUrl: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1]);
}

async function load(
  minter: { url: string; adminUrl: string },
  tokens: readonly string[],
  scope: string,
  concurrency: number,
  requests?: number,
): Promise<Load> {
  const pool = new Pool(minter.url, { connections: concurrency });
  const body = JSON.stringify({ org_name: 'acme', repositories: ['gitops'], scope });
  const times: number[] = [];
  const statuses = new Map<number, number>();
  const cpu = await cpuSeconds(minter.adminUrl);
  const start = performance.now();
  const end = start + seconds * 1000;
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (requests === undefined ? performance.now() < end : sent < requests) {
      const token = tokens[sent++ % tokens.length]!;
      const from = performance.now();
      const answer = await pool.request({
        path: '/token',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-oidc-token': token },
        body,
      });
      await answer.body.dump();
      times.push(performance.now() - from);
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const elapsed = (performance.now() - start) / 1000;
  const used = (await cpuSeconds(minter.adminUrl)) - cpu;
  await pool.close();
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  return {
    perSecond: times.length / elapsed,
    perCpuSecond: times.length / used,
    p50: at(0.5),
    p99: at(0.99),
    statuses,
  };
}

async function verifications(world: MinterWorld): Promise<number> {
  const keys = new Jwks({ uri: world.issuer.jwksUri, clock: systemClock, logger: silentLogger });
  const token = world.issuer.token(agentEmail, audience);
  const options = { issuer: world.issuer.issuer, audiences: [audience], keys, clock: systemClock };
  await verifyIdentity(token, options);
  const count = quick ? 500 : 5_000;
  const start = performance.now();
  for (let i = 0; i < count; i++) await verifyIdentity(token, options);
  return ((performance.now() - start) / count) * 1000;
}

/**
 * The same exchange without a minter: a signed App JWT, the body of a mint, the same callers and client. What a mint
 * takes beyond this is the minter's own.
 */
async function platformAlone(world: MinterWorld, callers: number): Promise<number> {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1000) - 30;
  const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iss: String(world.appId), iat, exp: iat + 570 })}`;
  const jwt = `${signed}.${sign('sha256', Buffer.from(signed), testKey('app')).toString('base64url')}`;
  const headers = {
    authorization: `Bearer ${jwt}`,
    accept: 'application/vnd.github+json',
    'content-type': 'application/json',
    'x-github-api-version': '2022-11-28',
  };
  const base = new URL(world.platform.apiBaseUrl);
  const prefix = base.pathname.replace(/\/$/, '');
  const pool = new Pool(base.origin, { connections: callers });
  const installation = await pool.request({ path: `${prefix}/orgs/${world.org}/installation`, method: 'GET', headers });
  const { id } = (await installation.body.json()) as { id: number };
  const permissions = { contents: 'write', pull_requests: 'write', issues: 'write' };
  const body = JSON.stringify({ repositories: ['gitops'], permissions });
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      const start = performance.now();
      const path = `${prefix}/app/installations/${id}/access_tokens`;
      const answer = await pool.request({ path, method: 'POST', headers, body });
      await answer.body.dump();
      if (answer.statusCode !== 201) throw new Error(`the platform alone answered ${answer.statusCode}`);
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: callers }, worker));
  await pool.close();
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
}

const emails = Array.from({ length: 50 }, (_, i) => `agent-${i}@proj.iam.gserviceaccount.com`);
const world = await startMinterWorld();
await world.writeRules({ '.yaml': agentRules(['gitops'], emails.join(`', '`)) });
process.stderr.write('starting the minter\n');
const minter = await startMinter(world);
try {
  while ((await fetch(`${minter.url}/version`)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
  const tokens = emails.map((email) => world.issuer.token(email, audience));
  const scope = 'platform-agent-scope';
  await load(minter, tokens, scope, 4, 200);

  process.stderr.write('mints, fakes at their own speed\n');
  const free = await load(minter, tokens, scope, 16);
  print('token/mint/16-callers/requests-per-second', '1/s', free.perSecond);
  print('token/mint/16-callers/requests-per-cpu-second', '1/s', free.perCpuSecond);
  print('token/mint/16-callers/p99', 'ms', free.p99);

  process.stderr.write(`mints, platform at ${platformMs} ms, key service at ${kmsMs} ms\n`);
  world.kms.faults = { delayMs: kmsMs };
  world.platform.faults.set('create_token', { delayMs: platformMs });
  const callers = 2;
  const alone = await platformAlone(world, callers);
  const slow = await load(minter, tokens, scope, callers);
  print(`token/mint/platform-${platformMs}ms/p50`, 'ms', slow.p50);
  print(`token/mint/platform-${platformMs}ms/exchange-alone-p50`, 'ms', alone);
  print(`token/mint/platform-${platformMs}ms/overhead-p50`, 'ms', slow.p50 - alone, 2);
  world.kms.faults = {};
  world.platform.faults.clear();

  process.stderr.write('refusals\n');
  const signs = world.kms.count('AsymmetricSign');
  const calls = world.platform.appCalls;
  const denied = await load(minter, tokens, 'no-such-scope', 16);
  print('token/refusal/policy/16-callers/requests-per-second', '1/s', denied.perSecond);
  print('token/refusal/policy/16-callers/requests-per-cpu-second', '1/s', denied.perCpuSecond);
  print('token/refusal/policy/16-callers/p99', 'ms', denied.p99, 50);
  const shapeless = await load(minter, ['not.a.token'], scope, 16);
  print('token/refusal/shape/16-callers/requests-per-second', '1/s', shapeless.perSecond);
  const single = await load(minter, tokens, 'no-such-scope', 1, quick ? 200 : 2_000);
  print('token/refusal/policy/1-caller/p50', 'ms', single.p50, 50);
  print(
    'token/refusal/outbound-calls',
    '1',
    world.kms.count('AsymmetricSign') - signs + world.platform.appCalls - calls,
    0,
  );

  process.stderr.write('verification alone\n');
  print('token/verify/per-token', 'µs', await verifications(world));
  for (const [what, seen] of Object.entries({ free, slow, denied, shapeless })) {
    process.stderr.write(`${what}: ${[...seen.statuses].map(([s, n]) => `${s}×${n}`).join(' ')}\n`);
  }
} finally {
  await minter.stop();
  await world.stop();
}
