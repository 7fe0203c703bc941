import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { connect, type ClientHttp2Session } from 'node:http2';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { Target } from '../hostile/caller.ts';
import { startWorld, type HostileWorld } from '../hostile/world.ts';

/**
 * In a rolling update a Service still sends requests for some seconds after SIGTERM. Each listener behind a Service
 * gets requests on new and on kept connections, and the query server also over HTTP/2; none may be lost.
 */
const behindServices: Readonly<Record<string, { path: string; status: number }>> = {
  query: { path: '/-/healthy', status: 200 },
  'custom-metrics': { path: '/livez', status: 200 },
  webhook: { path: '/nothing-here', status: 404 },
  // After SIGTERM the minter answers this path with 503, because it is not ready any more.
  minter: { path: '/version', status: 503 },
};
const everyMs = 40;
/** How long requests still come after SIGTERM. Units: ms. */
const lateMs = 2_000;

let world: HostileWorld;
beforeAll(async () => {
  world = await startWorld();
}, 120_000);
afterAll(() => world.stop(), 60_000);

const target = (listener: string): Target => world.targets.find((t) => t.listener === listener)!;

function ask({ port, tls }: Target, path: string, agent: PlainAgent | TlsAgent | false): Promise<number> {
  const options = { host: '127.0.0.1', port, path, agent, timeout: 5_000 };
  return new Promise((resolve, reject) => {
    const req = tls
      ? tlsRequest({ ...options, ca: tls.ca, servername: tls.servername, checkServerIdentity: () => undefined })
      : plainRequest(options);
    req.on('response', (res) =>
      res
        .resume()
        .on('end', () => resolve(res.statusCode!))
        .on('error', reject),
    );
    req.on('error', reject).end();
  });
}

/**
 * A client that opens a new session after a GOAWAY, and repeats there a request whose stream was refused: the server
 * has not processed such a request (RFC 9113 §8.7). Clients of Go, gRPC and browsers do the same.
 */
class Http2Caller {
  readonly #target: Target;
  #session: ClientHttp2Session | undefined;

  constructor(to: Target) {
    this.#target = to;
  }

  async ask(path: string): Promise<number> {
    try {
      return await this.#askOnce(path);
    } catch (error) {
      if (!/NGHTTP2_REFUSED_STREAM/.test((error as Error).message)) throw error;
      this.#session = undefined;
      return this.#askOnce(path);
    }
  }

  #askOnce(path: string): Promise<number> {
    const { port, tls } = this.#target;
    if (!this.#session || this.#session.closed || this.#session.destroyed) {
      const { ca, servername } = tls!;
      const options = { ca, servername, checkServerIdentity: () => undefined };
      this.#session = connect(`https://127.0.0.1:${port}`, options);
      this.#session.on('error', () => {});
    }
    const stream = this.#session.request({ ':path': path });
    return new Promise((resolve, reject) => {
      stream.on('response', (head) => resolve(Number(head[':status']))).on('error', reject);
      stream.resume();
    });
  }

  end(): void {
    this.#session?.destroy();
  }
}

test('SIGTERM makes a program unready immediately, and no request of the next seconds is lost', async () => {
  const agents = Object.keys(behindServices).map(
    (name) =>
      [name, target(name).tls ? new TlsAgent({ keepAlive: true }) : new PlainAgent({ keepAlive: true })] as const,
  );
  const http2 = new Http2Caller(target('query'));
  const lost: string[] = [];
  let sent = 0;
  const check = (what: string, wanted: number, answer: Promise<number>): Promise<void> => {
    sent++;
    return answer.then(
      (status) => void (status === wanted || lost.push(`${what}: ${status}`)),
      (error: unknown) => void lost.push(`${what}: ${(error as Error).message}`),
    );
  };
  const pending: Promise<void>[] = [];
  const callAll = (ready: boolean): void => {
    for (const [name, agent] of agents) {
      const { path, status } = behindServices[name]!;
      const wanted = name === 'minter' && ready ? 200 : status;
      pending.push(check(`${name} on a new connection`, wanted, ask(target(name), path, false)));
      pending.push(check(`${name} on a kept connection`, wanted, ask(target(name), path, agent)));
    }
    pending.push(check('query over HTTP/2', 200, http2.ask(behindServices['query']!.path)));
  };
  for (let i = 0; i < 10; i++) {
    callAll(true);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  await Promise.all(pending.splice(0));
  const ended = Promise.all(
    world.victims.filter((v) => v.name !== 'agent').map(async (v) => ({ name: v.name, code: await v.end() })),
  );
  while ((await ask(target('minter'), '/version', false)) === 200) await new Promise(setImmediate);
  const started = performance.now();
  while (performance.now() - started < lateMs) {
    callAll(false);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  const readiness = ['query-health', 'minter-admin'].map((name) => ask(target(name), '/readyz', false));
  expect(await Promise.all([...readiness, ask(target('custom-metrics'), '/readyz', false)])).toEqual([503, 503, 503]);
  await Promise.all(pending);
  expect(lost).toEqual([]);
  expect(sent).toBeGreaterThan(300);
  expect(await ended).toEqual(['operator', 'query', 'minter'].map((name) => ({ name, code: 0 })));
  // The programs ended by themselves, soon after the last request.
  expect(performance.now() - started).toBeLessThan(lateMs + 15_000);
  for (const [, agent] of agents) agent.destroy();
  http2.end();
});
