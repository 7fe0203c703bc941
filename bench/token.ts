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
import { minterEnvironment } from './run/as-rendered.ts';
import { bench } from './run/bench.ts';
import type { Stage } from './run/bench.ts';
import { allCores } from './run/cores.ts';
import type { Goal } from './run/figure.ts';
import { median, quantile } from './run/spread.ts';

/**
 * Delays of the stand-ins for the platform and the key service, while a mint is compared with the same exchange without
 * a minter. Units: ms.
 */
const platformMs = 40;
const kmsMs = 20;
const scope = 'platform-agent-scope';

await bench(
  {
    name: 'bench:minter',
    measures:
      'The minter in a process of its own, in front of a key service and a platform with fixed latencies: mints and\n' +
      'refusals per second and per CPU second, latencies, what a mint costs beyond the same exchange with the platform\n' +
      'made directly, and what verifying one token costs.',
    options: { seconds: { kind: 'number', value: 1, help: 'how long each load of a run lasts' } },
  },
  async (stage) => {
    const { runs, say, atEnd } = stage;
    const emails = Array.from({ length: 50 }, (_, i) => `agent-${i}@proj.iam.gserviceaccount.com`);
    const world = await startMinterWorld();
    atEnd(() => world.stop());
    await world.writeRules({ '.yaml': agentRules(['gitops'], emails.join(`', '`)) });
    say('starting the minter');
    const minter = await startMinter(world);
    atEnd(() => minter.stop());
    while ((await fetch(`${minter.url}/version`)).status !== 200)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const tokens = emails.map((email) => world.issuer.token(email, audience));
    await load(minter, { tokens, scope, concurrency: 4, until: { requests: 200 } });
    const all: Run[] = [];
    for (let run = 0; run < runs; run++) {
      say(`run ${run + 1} of ${runs}`);
      all.push(await measure(world, minter, tokens, stage));
    }
    tell(stage, all);
  },
);

interface Run {
  readonly mints: Load;
  readonly slowMints: Load;
  readonly exchangeAlone: number;
  readonly refusals: Load;
  readonly shapeless: Load;
  readonly singleRefusals: Load;
  readonly outboundOfRefusals: number;
  readonly verificationUs: number;
}

async function measure(
  world: MinterWorld,
  minter: { url: string; adminUrl: string },
  tokens: readonly string[],
  {
    flags,
    quick,
  }: Stage<{ readonly seconds: { readonly kind: 'number'; readonly value: number; readonly help: string } }>,
): Promise<Run> {
  const until = { seconds: flags.seconds };
  const mints = await loadOf(200, minter, { tokens, scope, concurrency: 16, until });
  world.kms.faults = { delayMs: kmsMs };
  world.platform.faults.set('create_token', { delayMs: platformMs });
  const exchangeAlone = await platformAlone(world, 2, flags.seconds);
  const slowMints = await loadOf(200, minter, { tokens, scope, concurrency: 2, until });
  world.kms.faults = {};
  world.platform.faults.clear();
  const outbound = (): number => world.kms.count('AsymmetricSign') + world.platform.appCalls;
  const before = outbound();
  const refused = { tokens, scope: 'no-such-scope' };
  const refusals = await loadOf(403, minter, { ...refused, concurrency: 16, until });
  const shapeless = await loadOf(401, minter, { tokens: ['not.a.token'], scope, concurrency: 16, until });
  const single = { requests: quick ? 100 : 1_000 };
  const singleRefusals = await loadOf(403, minter, { ...refused, concurrency: 1, until: single });
  return {
    ...{ mints, slowMints, exchangeAlone, refusals, shapeless, singleRefusals },
    outboundOfRefusals: outbound() - before,
    verificationUs: await verifications(world, quick ? 500 : 5_000),
  };
}

/** Puts load on a minter. Errors: an answer has another status than `status`. */
async function loadOf(status: number, minter: { url: string; adminUrl: string }, work: Work): Promise<Load> {
  const found = await load(minter, work);
  const others = [...found.statuses].filter(([other]) => other !== status);
  if (others.length > 0) throw new Error(`answers by status: ${others.map(([s, n]) => `${n} x ${s}`).join(', ')}`);
  return found;
}

function tell({ reporter }: Stage, all: readonly Run[]): void {
  const report = reporter({
    cores: allCores('minter; key service, platform, issuer and callers in another process'),
    caches: 'warm: keys and rules known, connections kept',
  });
  const emit = (name: string, unit: string, of: (run: Run) => number, goal?: Goal): void =>
    report({ name: `token/${name}`, unit, ours: all.map(of), goal });
  emit('mint/16-callers/requests-per-second', '1/s', ({ mints }) => mints.perSecond);
  emit('mint/16-callers/requests-per-cpu-second', '1/s', ({ mints }) => mints.perCpuSecond);
  emit('mint/16-callers/p99', 'ms', ({ mints }) => mints.p99);
  const slow = `mint/platform-${platformMs}ms`;
  emit(`${slow}/p50`, 'ms', ({ slowMints }) => slowMints.p50);
  emit(`${slow}/exchange-alone-p50`, 'ms', ({ exchangeAlone }) => exchangeAlone);
  const overhead = (run: Run): number => run.slowMints.p50 - run.exchangeAlone;
  emit(`${slow}/overhead-p50`, 'ms', overhead, { of: 'ours', atMost: 2 });
  emit('refusal/policy/16-callers/requests-per-second', '1/s', ({ refusals }) => refusals.perSecond);
  emit('refusal/policy/16-callers/requests-per-cpu-second', '1/s', ({ refusals }) => refusals.perCpuSecond);
  emit('refusal/policy/16-callers/p99', 'ms', ({ refusals }) => refusals.p99, { of: 'ours', atMost: 50 });
  emit('refusal/shape/16-callers/requests-per-second', '1/s', ({ shapeless }) => shapeless.perSecond);
  emit('refusal/policy/1-caller/p50', 'ms', (run) => run.singleRefusals.p50, { of: 'ours', atMost: 50 });
  emit('refusal/outbound-calls', '1', (run) => run.outboundOfRefusals, { of: 'ours', atMost: 0 });
  emit('verify/per-token', 'µs', (run) => run.verificationUs);
}

interface Work {
  readonly tokens: readonly string[];
  readonly scope: string;
  readonly concurrency: number;
  readonly until: { readonly seconds: number } | { readonly requests: number };
}

interface Load {
  perSecond: number;
  perCpuSecond: number;
  p50: number;
  p99: number;
  statuses: Map<number, number>;
}

/** Starts the minter's real command; resolves with its URLs once both ports listen. */
async function startMinter(world: MinterWorld): Promise<{ url: string; adminUrl: string; stop: () => Promise<void> }> {
  const child = spawn(process.execPath, ['src/bin/minter.ts', 'server', 'run'], {
    env: {
      ...process.env,
      ...minterEnvironment,
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
  { tokens, scope, concurrency, until }: Work,
): Promise<Load> {
  const pool = new Pool(minter.url, { connections: concurrency });
  const body = JSON.stringify({ org_name: 'acme', repositories: ['gitops'], scope });
  const times: number[] = [];
  const statuses = new Map<number, number>();
  const cpu = await cpuSeconds(minter.adminUrl);
  const start = performance.now();
  const over =
    'seconds' in until ? () => performance.now() >= start + until.seconds * 1000 : () => sent >= until.requests;
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (!over()) {
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
  return {
    perSecond: times.length / elapsed,
    perCpuSecond: times.length / used,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    statuses,
  };
}

/** Verifies one identity token `count` times. Returns the time of one verification. Units: µs. */
async function verifications(world: MinterWorld, count: number): Promise<number> {
  const keys = new Jwks({ uri: world.issuer.jwksUri, clock: systemClock, logger: silentLogger });
  const token = world.issuer.token(agentEmail, audience);
  const options = { issuer: world.issuer.issuer, audiences: [audience], keys, clock: systemClock };
  await verifyIdentity(token, options);
  const start = performance.now();
  for (let i = 0; i < count; i++) await verifyIdentity(token, options);
  return ((performance.now() - start) / count) * 1000;
}

/**
 * The median time of the same exchange without a minter: a signed App JWT, the body of a mint, the same callers and
 * client. The time that a mint takes beyond this is the minter's own. Units: ms.
 */
async function platformAlone(world: MinterWorld, callers: number, seconds: number): Promise<number> {
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
  return median(times);
}
