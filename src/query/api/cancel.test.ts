import { once } from 'node:events';
import { connect } from 'node:http2';
import { request } from 'node:https';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';

const path = '/api/v1/query?query=sum(x)';
let stage: QueryStage;
beforeAll(async () => (stage = await startQueryStage({ nodes: ['node-1'] })));
afterAll(() => stage.close());

/** Asks for a query whose agent never answers, has the client leave, and waits until the agent is let go. */
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

test('over HTTP/1.1, a client that goes away takes its query with it', async () => {
  const agent = stage.cluster.agents[0]!;
  const asked = agent.requests;
  await leaveWhileAgentWorks((port) => {
    const req = request({ port, host: '127.0.0.1', path, ca: stage.cluster.ca.cert, servername: 'localhost' });
    req.on('error', () => {}).end();
    return () => req.destroy();
  });
  // The agent is not asked in another way for a client that is no longer there.
  expect(agent.requests - asked).toBe(1);
});

test('over HTTP/2, a cancelled stream takes its query with it, and the connection serves on', async () => {
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
