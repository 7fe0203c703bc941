import { Client, credentials } from '@grpc/grpc-js';
import { callLine, say, type Identity, type Target } from './caller.ts';
import { flood, floods } from './h2-floods.ts';
import { holdConnections, startSlow, type Slow } from './holding.ts';
import { sendMalformed } from './malformed.ts';
import { sendMutations } from './mutation.ts';
import { startWorld, type HostileWorld } from './world.ts';

/**
 * Hostile callers attack every port of every program, without credentials and with each identity that the port admits.
 * All traffic stays in 127.0.0.0/8. After each case the process still lives, other callers are answered, and the memory
 * that the case took is free again.
 */
const seed = Number(process.env['HOSTILE_SEED'] ?? 20_240_601);
/** Another caller must be answered within this time. Units: ms. */
const promptMs = 250;
/** How much resident memory may grow: heaps keep some of the memory that they once took. Units: bytes. */
const grownBytes = 160 * 1024 * 1024;
/**
 * How much memory in use may grow, after a garbage collection: by caches, and by accepted series and spans. Units:
 * bytes.
 */
const keptBytes = 24 * 1024 * 1024;

const plain = ['metrics', 'otlp-http', 'scrape', 'query-health', 'minter', 'minter-admin'];
const tokens = ['query', 'custom-metrics', 'scrape', 'minter'];
const mutual = ['remote-read', 'span-stream', 'capture-config'];
const listeners = ['webhook', ...plain, ...mutual, 'query', 'custom-metrics'];
/** Each HTTP listener with each identity that makes a difference to it. */
const pairs = listeners.flatMap((listener) =>
  [
    'anybody',
    ...(tokens.includes(listener) ? ['a reader'] : []),
    ...(mutual.includes(listener) ? ['svc-query', 'svc-controller', 'svc-agent'] : []),
  ].map((who) => [listener, who] as const),
);
/** Each listener that speaks HTTP/2, and the identities that flood it. */
const h2Pairs = [
  ['otlp-grpc', 'anybody'],
  ['query', 'anybody'],
  ['span-stream', 'svc-query'],
  ['span-stream', 'svc-agent'],
] as const;

let world: HostileWorld;
let slow: Slow[];
beforeAll(async () => {
  world = await startWorld();
  // The slow senders take as long as the longest timeout, so they run beside all tests.
  slow = (
    await Promise.all(
      listeners.map((listener) =>
        startSlow(targetOf(listener), mutual.includes(listener) ? owner(listener) : world.anybody),
      ),
    )
  ).flat();
}, 120_000);
afterAll(async () => {
  if (process.env['HOSTILE_REPORT']) {
    console.log(world.victims.map((v) => `${v.name} grew by ${v.grown() >> 20} MiB, kept ${v.mostKept >> 20} at most`));
  }
  const codes = await world.stop();
  expect(codes).toEqual([0, 0, 0, 0]);
}, 60_000);

const targetOf = (listener: string): Target => world.targets.find((t) => t.listener === listener)!;
const owner = (listener: string): Identity =>
  listener === 'capture-config' ? world.certificates['svc-controller'] : world.certificates['svc-query'];
const identityOf = (name: string): Identity =>
  name === 'anybody' ? world.anybody : name === 'a reader' ? world.reader : world.certificates[name as 'svc-query'];

const paths: Readonly<Record<string, string>> = {
  metrics: '/livez',
  webhook: '/nothing-here',
  'otlp-http': '/nothing-here',
  scrape: '/livez',
  'remote-read': '/api/v1/metadata',
  'span-stream': '/nothing-here',
  'capture-config': '/v1/status',
  query: '/-/healthy',
  'query-health': '/livez',
  'custom-metrics': '/livez',
  minter: '/version',
  'minter-admin': '/livez',
};

/** How long another caller waits for an answer, connection and handshake included. Units: ms. */
async function probe(target: Target): Promise<number> {
  const started = performance.now();
  if (target.h2Only) await grpcProbe(target);
  else {
    const identity = mutual.includes(target.listener) ? owner(target.listener) : world.anybody;
    const line = await callLine(target, identity, { from: '127.0.0.1', alpn: 'http/1.1' });
    const request = `GET ${paths[target.listener]} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const status = await say(line, request, 5_000);
    expect([target.listener, status]).toEqual([
      target.listener,
      paths[target.listener] === '/nothing-here' ? 404 : 200,
    ]);
  }
  return performance.now() - started;
}

/** Calls an unknown method, which the server itself answers. */
function grpcProbe(target: Target): Promise<void> {
  const client = new Client(`127.0.0.1:${target.port}`, credentials.createInsecure());
  const bytes = (data: Buffer): Buffer => data;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest('/no.Such/Method', bytes, bytes, Buffer.alloc(0), (error) => {
      client.close();
      if (error?.code === 12) resolve();
      else reject(new Error(`expected UNIMPLEMENTED: ${error?.message}`));
    });
  });
}

/** Takes the best of three probes: other load on the machine is not the listener's fault. */
async function answersPromptly(target: Target): Promise<void> {
  let best = Infinity;
  for (let i = 0; i < 3 && best > promptMs; i++) best = Math.min(best, await probe(target));
  expect(best).toBeLessThanOrEqual(promptMs);
}

async function unharmed(target: Target): Promise<void> {
  const victim = world.victims.find((v) => v.name === target.process)!;
  victim.mustLive();
  await answersPromptly(target);
  const isBack = async (): Promise<boolean> => (await victim.kept()) <= keptBytes && victim.grown() <= grownBytes;
  for (const end = Date.now() + 3_000; !(await isBack()) && Date.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(victim.grown()).toBeLessThanOrEqual(grownBytes);
  expect(await victim.kept()).toBeLessThanOrEqual(keptBytes);
}

describe.each(pairs)('%s, called by %s', (listener, who) => {
  const target = (): Target => targetOf(listener);

  test('refuses malformed requests', async () => {
    expect(await sendMalformed(target(), identityOf(who))).toEqual([]);
    await unharmed(target());
  });

  test(`survives mutations of valid requests (HOSTILE_SEED=${seed})`, async () => {
    await sendMutations(target(), identityOf(who), seed + pairs.findIndex(([l, w]) => l === listener && w === who), 60);
    await unharmed(target());
  });
});

describe.each(h2Pairs)('%s over HTTP/2, called by %s', (listener, who) => {
  test.each(Object.keys(floods))('survives a flood of: %s', async (name) => {
    await flood(targetOf(listener), identityOf(who), name);
    await unharmed(targetOf(listener));
  });
});

test.each([...listeners, 'otlp-grpc'])('%s answers others while a caller holds connections', async (listener) => {
  const { open, release } = await holdConnections(targetOf(listener), 1_500);
  try {
    // The listener closes the connections beyond its limit. The lowest limit of all listeners is 128 connections.
    expect(open()).toBeGreaterThan(100);
    for (let i = 0; i < 3; i++) await answersPromptly(targetOf(listener));
  } finally {
    release();
  }
  await unharmed(targetOf(listener));
});

test('a sender that never finishes is cut off in time, whatever it is slow at', async () => {
  const late = await Promise.all(
    slow.map(async ({ what, target, ended }) => {
      const { ms, status } = await ended;
      const isBody = what.includes('body') || what.includes('chunks');
      // A listener may answer without the body; otherwise the body must come within the time limit of a request.
      const limitMs = isBody ? 30_000 : 5_000;
      return ms > limitMs + 1_500 ? `${target.listener}: ${what}, ${Math.round(ms)} ms, ${status}` : '';
    }),
  );
  expect(late.length).toBeGreaterThan(0);
  expect(late.filter(Boolean)).toEqual([]);
}, 60_000);

test('after all attacks, the query server answers with the data of its agent', async () => {
  expect(await world.agentsUp()).toBe('1');
});

test('every listener counts refused requests, and no listener counts a failure', async () => {
  for (const [scraper, names] of [
    ['metrics', ['metrics', 'webhook']],
    ['scrape', ['otlp-grpc', 'otlp-http', 'scrape', 'remote-read', 'span-stream', 'capture-config']],
    ['query-health', ['query', 'query-health', 'custom-metrics']],
    ['minter-admin', ['minter', 'minter-admin']],
  ] as const) {
    const text = await (await fetch(`http://127.0.0.1:${targetOf(scraper).port}/metrics`)).text();
    for (const name of names) {
      const of = (reason: string): number =>
        Number(
          new RegExp(`_listener_refused_total\\{listener="${name}",reason="${reason}"[^}]*\\} (\\d+)`).exec(text)?.[1],
        );
      expect([name, of('failed')]).toEqual([name, 0]);
      if (name !== 'otlp-grpc') expect(of('malformed') + of('too_large')).toBeGreaterThan(0);
      const open = Number(new RegExp(`_listener_connections\\{listener="${name}"[^}]*\\} (\\d+)`).exec(text)?.[1]);
      expect([name, open <= 10]).toEqual([name, true]);
    }
  }
});
