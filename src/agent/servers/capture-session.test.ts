import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import {
  AgentClient,
  type CaptureConfig,
  captureHash,
  parseAgentMessage,
  putMessage,
  zeroConfig,
  type AgentStatus,
} from '../../capture/index.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../net/ca.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import type { MessageSocket } from '../../net/message-socket.ts';
import { TlsClient } from '../../net/tls-client.ts';
import { HeldTls, fixedTls, type TlsMaterial } from '../../net/tls-material.ts';
import { agentTls } from '../../testing/agent-tls.ts';
import { FakeAgent } from '../../testing/capture/fake-agent.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { CaptureState } from '../capture/capture-state.ts';
import { captureRoutes } from './capture-server.ts';
import { captureSessions } from './capture-session.ts';
import { routed } from './routes.ts';

const host = '127.0.0.1';
const node = 'node-1';
const config = zeroConfig({ node, ports: '80', instrumentVersion: 'v0.10.0' });
const hash = captureHash(config);
const pieces = (value: CaptureConfig): Uint8Array[] => [Buffer.from(canonicalJson(value))];

let ca: KeyPairPem;
let material: TlsMaterial;
let controller: HeldTls;
let transport: TlsClient;
let abort: AbortController;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  ca = await createCa({ commonName: 'svc-ca', now: Date.now() });
  material = await agentTls(ca, node);
});
beforeEach(async () => {
  controller = new HeldTls(await controllerTls());
  transport = new TlsClient(controller);
  abort = new AbortController();
});
afterEach(async () => {
  abort.abort();
  transport.close();
  for (const close of closers.splice(0)) await close();
});

async function controllerTls(): Promise<TlsMaterial> {
  const names = { commonName: 'svc-controller', dnsNames: ['svc-controller.svc-system.svc'] };
  const leaf = await issueLeaf(ca, names, { now: Date.now() });
  return { cert: leaf.cert, key: leaf.key, ca: ca.cert };
}

interface Peer {
  readonly port: number;
  /** Changes the agent's status. */
  change(): void;
  /** How many sessions were opened. */
  sessions(): number;
  stop(): unknown;
}

/** The state of an agent without an instrument; `countSeries` counts its series. */
function captureState(clock: FakeClock, countSeries: () => number): CaptureState {
  const dataDir = mkdtempSync(join(tmpdir(), 'session-'));
  const state = new CaptureState({
    ...{ node, dataDir, instrumentFile: join(dataDir, 'config.yaml'), clock, logger: silentLogger },
    probe: () => Promise.resolve(null),
    onConfig: () => {},
    counts: () => ({ monitors: [], totals: { series: countSeries(), samplesAppended: 0, rejected: 0 } }),
  });
  closers.push(() => {
    state.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return state;
}

/** The agent's socket in a session without a connection: records what the agent sends, and why it ends the session. */
function recordingSocket(): { socket: MessageSocket; sent: string[]; ends: string[] } {
  const sent: string[] = [];
  const ends: string[] = [];
  const socket: MessageSocket = {
    send: (body) => Promise.resolve(void sent.push(Buffer.concat(body).toString())),
    pause() {},
    resume() {},
    close: (reason) => void ends.push(reason),
    destroy: () => void ends.push('destroyed'),
  };
  return { socket, sent, ends };
}

/** A session of an agent that counts these series, over such a socket. */
function begun(series: () => number = () => 0) {
  const clock = new FakeClock(Date.now());
  const { socket, sent, ends } = recordingSocket();
  const state = captureState(clock, series);
  const session = captureSessions(state, { logger: silentLogger, signal: abort.signal }).accept(socket);
  return { clock, sent, ends, state, session };
}

/** The agent's own server. */
async function realAgent(): Promise<Peer> {
  let series = 0;
  let sessions = 0;
  const clock = new FakeClock(Date.now());
  const state = captureState(clock, () => series);
  state.start();
  const ending = new AbortController();
  const deps = { logger: silentLogger, signal: ending.signal };
  const messages = captureSessions(state, deps);
  const server: Server = createTlsServer(
    fixedTls(material),
    routed(captureRoutes(state, { ...deps, onSecrets: () => {} })),
    {
      clientNames: ['svc-controller'],
      messages: { ...messages, accept: (socket) => (sessions++, messages.accept(socket)) },
    },
  );
  const stop = async (): Promise<void> => {
    ending.abort();
    await closeServer(server, 0);
  };
  closers.push(stop);
  const change = (): void => {
    series++;
    void clock.advance(6_000);
  };
  return { port: await listen('test', server, { host, port: 0 }), change, sessions: () => sessions, stop };
}

/** The stand-in that tests of the controller use. */
async function fakeAgent(options: { hasSessions?: boolean } = {}): Promise<Peer & { agent: FakeAgent }> {
  const agent = await FakeAgent.start({ node, material, host, port: 0, onPush: 'Written', ...options });
  const stop = (): Promise<void> => agent.stop();
  closers.push(stop);
  return { agent, port: agent.port, change: () => agent.update({}), sessions: () => agent.sessions, stop };
}

function client({ port }: { port: number }, clock = systemClock): AgentClient {
  const servername = `${node}.svc-agent.svc-system.svc`;
  return new AgentClient(transport, { host, port, servername }, clock);
}

describe.each<[string, () => Promise<Peer>]>([
  ['the agent', realAgent],
  ['the stand-in for an agent', fakeAgent],
])('a session with %s', (_name, start) => {
  let peer: Peer;
  let agent: AgentClient;
  beforeEach(async () => {
    peer = await start();
    agent = client(peer);
  });

  test('begins with the status; acknowledges a config, which is then the current one', async () => {
    const status = await agent.connect(abort.signal);
    expect([status.node, status.ack]).toEqual([node, null]);
    const ack = await agent.put(hash, pieces(config), 'now', abort.signal);
    expect(ack).toMatchObject({ node, hash, phase: 'Written' });
    expect((await agent.nextStatus(status.revision, abort.signal)).ack).toEqual(ack);
    expect(captureHash((await agent.current(abort.signal))!)).toBe(hash);
    expect(peer.sessions()).toBe(1);
  });

  test('reports a change of the status without being asked', async () => {
    const { revision } = await agent.connect(abort.signal);
    const next = agent.nextStatus(revision, abort.signal);
    peer.change();
    expect((await next).revision).toBeGreaterThan(revision);
  });

  test.each([
    ['that does not match its hash', `sha256:${'0'.repeat(64)}`, config],
    ['that is not valid', captureHash(config), { ...config, node: 7 } as never],
  ])('refuses a config %s, changes nothing, and goes on', async (_what, hash, wrong) => {
    await agent.connect(abort.signal);
    await expect(agent.put(hash, pieces(wrong), 'now', abort.signal)).rejects.toMatchObject({
      code: 'ERR_CAPTURE_PUSH',
    });
    expect(await agent.current(abort.signal)).toBeNull();
    expect(await agent.put(captureHash(config), pieces(config), 'now', abort.signal)).toMatchObject({ node });
    expect(peer.sessions()).toBe(1);
  });

  test('is opened again with a new certificate of the controller', async () => {
    const { revision } = await agent.connect(abort.signal);
    controller.replace(await controllerTls());
    expect((await agent.nextStatus(revision, abort.signal)).revision).toBe(revision);
    expect(peer.sessions()).toBe(2);
    expect(await agent.put(hash, pieces(config), 'now', abort.signal)).toMatchObject({ hash });
  });

  test('ends with the agent: the wait for a status fails, and so does a later config', async () => {
    const { revision } = await agent.connect(abort.signal);
    const next = agent.nextStatus(revision, abort.signal);
    const failed = expect(next).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
    await peer.stop();
    await failed;
    await expect(agent.put(hash, pieces(config), 'now', abort.signal)).rejects.toMatchObject({
      code: 'ERR_AGENT_UNREACHABLE',
    });
  });
});

test('an agent of version 0.1.0 is polled, and gets its config by PUT', async () => {
  const peer = await fakeAgent({ hasSessions: false });
  const agent = client(peer);
  const { revision } = await agent.connect(abort.signal);
  expect(await agent.put(hash, pieces(config), 'now', abort.signal)).toMatchObject({ hash, phase: 'Written' });
  const next = agent.nextStatus(revision, abort.signal);
  expect((await next).ack).toMatchObject({ hash });
  expect(peer.sessions()).toBe(0);
});

test('an agent that never acknowledges runs into the deadline, which ends the session', async () => {
  const peer = await fakeAgent();
  peer.agent.onPush = 'hold';
  const clock = new FakeClock();
  const agent = client(peer, clock);
  const { revision } = await agent.connect(abort.signal);
  const put = agent.put(hash, pieces(config), 'now', abort.signal);
  const failed = expect(put).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  const next = expect(agent.nextStatus(revision, abort.signal)).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  await clock.advance(10_001);
  await Promise.all([failed, next]);
});

test('an agent that falls silent runs into the deadline of its heartbeat', async () => {
  const peer = await fakeAgent();
  const clock = new FakeClock();
  const agent = client(peer, clock);
  const { revision } = await agent.connect(abort.signal);
  const next = expect(agent.nextStatus(revision, abort.signal)).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  await clock.advance(30_001);
  await next;
});

/** The same status, made `ms` later. */
const later = (status: AgentStatus, ms: number): AgentStatus => ({
  ...status,
  time: new Date(Date.parse(status.time!) + ms).toISOString(),
});

test('a quiet agent sends its status, of which only the time has changed, as a heartbeat', async () => {
  const { clock, sent, session } = begun();
  await clock.advance(24_000);
  const before = sent.length;
  await clock.advance(1_001);
  expect([before, sent.length]).toEqual([1, 2]);
  const [first, second] = sent.map((text) => parseAgentMessage(JSON.parse(text)).status);
  expect(second).toEqual(later(first!, 25_000));
  session.closed('over');
  await clock.advance(60_000);
  expect(sent).toHaveLength(2);
});

test('an answer brings the status with it, which is then sent again only as a heartbeat', async () => {
  const { clock, sent, state, session } = begun();
  await clock.advance(20_000);
  session.message(Buffer.concat(putMessage(hash, 'now', pieces(config))));
  await until('the answer', () => sent.length === 2);
  const { put, status } = parseAgentMessage(JSON.parse(sent[1]!));
  expect([put?.ack, status]).toEqual([state.ack, state.status()]);
  await clock.advance(1_500);
  await clock.advance(22_000);
  const before = sent.length;
  await clock.advance(1_501);
  expect([before, sent.length]).toEqual([2, 3]);
  expect(parseAgentMessage(JSON.parse(sent[2]!))).toEqual({ status: later(status!, 25_000) });
});

test('a config that comes before the controller has received the last answer ends the session', async () => {
  const { socket, sent } = recordingSocket();
  const state = captureState(new FakeClock(Date.now()), () => 0);
  const blocked: MessageSocket = {
    ...socket,
    send: (body) => socket.send(body).then(() => new Promise(() => {})),
  };
  const session = captureSessions(state, { logger: silentLogger, signal: abort.signal }).accept(blocked);
  const message = Buffer.concat(putMessage(hash, 'now', pieces(config)));
  session.message(message);
  await until('the answer', () => sent.length === 2);
  expect(() => session.message(message)).toThrow('before the last was acknowledged');
});

test('an answer is followed by each later change of the status, and no status comes after a newer one', async () => {
  let series = 0;
  const { clock, sent, state, session } = begun(() => series);
  await clock.advance(1);
  for (const restart of ['hold', 'now'] as const) {
    session.message(Buffer.concat(putMessage(hash, restart, pieces(config))));
    series++;
    await clock.advance(6_000);
    const answers = restart === 'hold' ? 1 : 2;
    await until('the answer', () => sent.filter((text) => text.includes('"put"')).length === answers);
  }
  await clock.advance(6_000);
  const revisions = (): number[] => sent.map((text) => parseAgentMessage(JSON.parse(text)).status?.revision ?? 0);
  await until('the last status', () => revisions().at(-1) === state.status().revision);
  expect(revisions()).toEqual(revisions().toSorted((a, b) => a - b));
});

test('a status that cannot be read ends its session, and not the agent', async () => {
  const { clock, sent, ends } = begun(() => {
    throw new Error('a store that is closed');
  });
  await clock.advance(1);
  expect([sent, ends]).toEqual([[], ['the status cannot be read']]);
});

test('a refusal with a long reason is a message that the controller can read', async () => {
  const { sent, state, session } = begun();
  state.apply = () => Promise.reject(new OperatorError('ERR_INPUT_INVALID', 'x'.repeat(10_000)));
  session.message(Buffer.concat(putMessage(hash, 'now', pieces(config))));
  const answer = await until('the refusal', () => sent.find((text) => text.includes('refused')));
  expect(parseAgentMessage(JSON.parse(answer)).put).toMatchObject({ hash });
});

test('statuses that an agent sends without a pause are read only as the controller asks for them', async () => {
  const peer = await fakeAgent();
  const agent = client(peer);
  await agent.connect(abort.signal);
  const message = 'x'.repeat(1_024);
  const big = Array.from({ length: 200 }, (_, i) => ({
    ...{ namespace: 'shop', name: `m${i}`, activeSeries: 1, droppedSeries: 0 },
    obstacle: { reason: 'NotAttached' as const, message },
  }));
  for (let i = 0; i < 100; i++) peer.agent.update({ monitors: big });
  // The status that was sent first comes first, although newer ones wait: they are still on the agent's side.
  const first = await agent.nextStatus(0, abort.signal);
  const second = await agent.nextStatus(first.revision, abort.signal);
  expect(second.revision).toBeLessThan(50);
  let last = second;
  while (last.revision < 101) last = await agent.nextStatus(last.revision, abort.signal);
});
