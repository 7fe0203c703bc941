import { once } from 'node:events';
import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { request } from 'node:https';
import { createLogger } from '../../base/logger.ts';
import { AddressIndex, type IndexedPod } from '../addresses/address-index.ts';
import { askApi } from '../../testing/query/api-client.ts';
import { until } from '../../testing/until.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';

const path = '/api/v1/query?query=sum(x)';
let stage: QueryStage;
beforeAll(async () => (stage = await startQueryStage({ nodes: ['node-1'] })));
afterAll(() => stage.close());

/** Starts a query whose agent never answers, disconnects the client, and waits until the agent sees the request end. */
async function leaveWhileAgentWorks(start: (port: number) => () => void): Promise<void> {
  const agent = stage.cluster.agents[0]!;
  const left = new Promise<void>((resolve) => {
    agent.misbehave = (_req, res) => {
      res.once('close', resolve);
      leave();
    };
  });
  const leave = start(stage.server.port);
  await left;
  agent.misbehave = undefined;
}

test('over HTTP/1.1, a client that disconnects cancels its query', async () => {
  const agent = stage.cluster.agents[0]!;
  const asked = agent.requests;
  await leaveWhileAgentWorks((port) => {
    const req = request({ port, host: '127.0.0.1', path, ca: stage.cluster.ca.cert, servername: 'localhost' });
    req.on('error', () => {}).end();
    return () => req.destroy();
  });
  // The agent gets no fallback request for a client that has disconnected.
  expect(agent.requests - asked).toBe(1);
});

test('over HTTP/2, a cancelled stream cancels its query, and the connection stays usable', async () => {
  const session = connect(`https://localhost:${stage.server.port}`, {
    ca: stage.cluster.ca.cert,
    lookup: (_name, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
  });
  try {
    await leaveWhileAgentWorks(() => {
      const req = session.request({ ':path': path });
      req.on('error', () => {});
      return () => req.close();
    });
    const [headers] = (await once(session.request({ ':path': path }), 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(200);
  } finally {
    session.destroy();
  }
});

test('building an answer ends when its client disconnects, which is not an error of the server', async () => {
  const lines: string[] = [];
  const ended = Promise.withResolvers<void>();
  let leave = (): void => {};
  class EndlessIndex extends AddressIndex {
    override *pods(): Generator<IndexedPod> {
      const pod = { namespace: 'shop', name: 'p', uid: 'u', nodeName: 'node-1', labels: {}, containers: [], ips: [] };
      try {
        leave();
        for (;;) yield { ...pod, hostNetwork: false, fromMs: 0, ended: true };
      } finally {
        ended.resolve();
      }
    }
  }
  const logger = createLogger({ write: (line) => void lines.push(line) });
  const server = await stage.replica({ addresses: { index: new EndlessIndex(), synced: true }, logger });
  const to = { port: server.port, host: '127.0.0.1', ca: stage.cluster.ca.cert, servername: 'localhost' };
  const req = request({ ...to, path: '/api/v1/services' });
  leave = () => req.destroy();
  req.on('error', () => {}).end();
  await ended.promise;
  await until('the request is counted', async () => (await server.registry.metrics()).includes('/services'));
  expect(lines.filter((line) => line.includes('request failed'))).toEqual([]);
});

describe('a client that leaves while its form arrives', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': 1_000 };

  /**
   * `start` sends a part of a form and returns how to leave. The client leaves when the server, which then waits for the
   * rest, has reviewed its right. Returns the log lines of failed requests, and the status that is counted.
   */
  async function leaveWhileFormArrives(
    start: (to: { port: number; ca: string }) => () => void,
  ): Promise<{ lines: string[]; code: string | undefined }> {
    const lines: string[] = [];
    let leave = (): void => {};
    const mayAccessPath = (): Promise<boolean> => {
      leave();
      return Promise.resolve(true);
    };
    const server = await stage.replica({
      logger: createLogger({ write: (line) => void lines.push(line) }),
      flags: { loopbackExempt: 'false' },
      reviews: { reviewToken: () => Promise.resolve({ username: 'anna', groups: [] }), mayAccessPath },
    });
    leave = start({ port: server.port, ca: stage.cluster.ca.cert });
    const counted = /^svc_query_duration_seconds_count\{.*code="(\d+)"/m;
    const [, code] = await until('the request is counted', async () => counted.exec(await server.registry.metrics()));
    return { lines: lines.filter((line) => line.includes('request failed')), code };
  }

  test('over HTTP/1.1 has cancelled its request, which is not an error of the server', async () => {
    const { lines, code } = await leaveWhileFormArrives((to) => {
      const headers = { ...form, authorization: 'Bearer t' };
      const path = '/api/v1/query';
      const req = request({ ...to, host: '127.0.0.1', servername: 'localhost', path, method: 'POST', headers });
      req.on('error', () => {}).write('query=1');
      return () => req.destroy();
    });
    expect([lines, code]).toEqual([[], '499']);
  });

  test('over HTTP/2 has cancelled its request, too', async () => {
    let session: ClientHttp2Session | undefined;
    const { lines, code } = await leaveWhileFormArrives(({ port, ca }) => {
      session = connect(`https://localhost:${port}`, { ca });
      const headers = { ...form, authorization: 'Bearer t', ':method': 'POST', ':path': '/api/v1/query' };
      const stream = session.request(headers);
      stream.on('error', () => {}).write('query=1');
      return () => stream.close(constants.NGHTTP2_CANCEL);
    });
    session?.destroy();
    expect([lines, code]).toEqual([[], '499']);
  });
});

test('when one query of a request fails, the others are cancelled when the answer is sent', async () => {
  const agent = stage.cluster.agents[0]!;
  const server = await stage.replica({ flags: { agentTimeout: '1h', queryTimeout: '1h' } });
  const [hangs, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  agent.misbehave = (req, res) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of req) parts.push(part as Buffer);
      const { count } = JSON.parse(Buffer.concat(parts).toString()) as { count: number };
      if (count > 1) {
        res.once('close', ended.resolve);
        return hangs.resolve();
      }
      await hangs.promise;
      res.writeHead(403).end('no');
    })();
  };
  const to = { port: server.port, ca: stage.cluster.ca.cert };
  const { status } = await askApi(to, '/api/v1/services', { partial_response: 'false' });
  expect(status).toBe(503);
  await ended.promise;
  agent.misbehave = undefined;
});
