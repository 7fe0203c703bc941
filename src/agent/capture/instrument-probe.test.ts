import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createNetServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zeroConfig } from '../../capture/index.ts';
import { instrumentFileHash } from '../supervisor/state.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { instrumentProbe } from './instrument-probe.ts';

/** A clock that stands still, so no probe times out. */
const clock = new FakeClock();

let dir: string;
let server: Server | null = null;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'probe-'));
});
afterEach(async () => {
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
  server = null;
  rmSync(dir, { recursive: true });
});

const file = instrumentFileHash('a: 1\n');
const told = (more: object = {}): void =>
  writeFileSync(
    join(dir, 'state.json'),
    JSON.stringify({ version: 1, config: file, starts: 1, stoppedMs: null, pid: 7, startedMs: 1_000, ...more }),
  );
const settings = (version: string) => ({
  instrumentVersion: version,
  instrumentHealthSocket: join(dir, 'health'),
  instrumentStateDir: dir,
});
const never = new AbortController().signal;
const healthy = (answer: () => { status: number; body?: object }): Promise<void> =>
  new Promise((resolve) => {
    server = createServer((_req, res) => {
      const { status, body = {} } = answer();
      res.writeHead(status).end(JSON.stringify(body));
    }).listen(join(dir, 'health'), resolve);
  });

test('the probe reports what the supervisor wrote, whatever start time the health server suggests', async () => {
  told();
  // By the uptime of its health server, the instrument would have started long after the time that was written.
  await healthy(() => ({ status: 200, body: { now_unix_ns: 40e15, process_uptime_ns: 1e9 } }));
  expect(await instrumentProbe(settings('v0.10.0'), clock)(never)).toEqual({
    file,
    pid: 7,
    startMs: 1_000,
    stoppedMs: null,
  });
});

test('an instrument that does not answer, or not with 200, is not up', async () => {
  told();
  const probe = instrumentProbe(settings('v0.10.0'), clock);
  expect(await probe(never)).toBeNull();
  await healthy(() => ({ status: 503 }));
  expect(await probe(never)).toBeNull();
});

test.each([
  ['without end is up, and its connection is closed', 'HTTP/1.1 200 OK\r\n\r\nmore', { pid: 7 }],
  [
    'that switches protocols is not up',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    null,
  ],
])('an instrument with an answer %s', async (_what, bytes, expected) => {
  told();
  const closed = Promise.withResolvers<void>();
  const raw = createNetServer((socket) => {
    socket.on('error', () => {}).on('close', () => closed.resolve());
    socket.once('data', () => socket.write(bytes));
  });
  server = raw;
  await new Promise<void>((resolve) => raw.listen(join(dir, 'health'), resolve));
  const found = await instrumentProbe(settings('v0.10.0'), clock)(never);
  expect(found && { pid: found.pid }).toEqual(expected);
  await closed.promise;
});

test('an answer during which the instrument restarted counts for neither run', async () => {
  told();
  await healthy(() => {
    told({ pid: 8, startedMs: 2_000, stoppedMs: 1_900 });
    return { status: 200 };
  });
  const probe = instrumentProbe(settings('v0.10.0'), clock);
  expect(await probe(never)).toBeNull();
  expect(await probe(never)).toMatchObject({ pid: 8, startMs: 2_000, stoppedMs: 1_900 });
});

test('no instrument is up before the first start or between two runs', async () => {
  await healthy(() => ({ status: 200 }));
  const probe = instrumentProbe(settings('v0.10.0'), clock);
  expect(await probe(never)).toBeNull();
  told({ pid: null, startedMs: null });
  expect(await probe(never)).toBeNull();
});

test('an instrument whose version has no health check is up while its process exists', async () => {
  told();
  const probe = instrumentProbe(settings('v0.9.0'), clock, join(dir, 'proc'));
  expect(await probe(never)).toBeNull();
  mkdirSync(join(dir, 'proc', '7'), { recursive: true });
  expect(await probe(never)).toMatchObject({ pid: 7, file });
});

/** The supervisor starts the instrument with a file of this version. */
const startedWith = (instrumentVersion: string, more: object = {}): void => {
  const { yaml } = zeroConfig({ node: 'n1', ports: '80', instrumentVersion }).instrument;
  writeFileSync(join(dir, 'config.yaml'), yaml);
  told({ config: instrumentFileHash(yaml), ...more });
};

test('an instrument whose file opens no health socket is up while its process exists, in a pod of any version', async () => {
  const probeOf = (version: string) => instrumentProbe(settings(version), clock, join(dir, 'proc'));
  const probes = ['v0.9', 'v0.10', 'v0.12'].map(probeOf);
  const answers = () => Promise.all(probes.map(async (probe) => (await probe(never))?.pid));
  startedWith('v0.9');
  expect(await answers()).toEqual([undefined, undefined, undefined]);
  mkdirSync(join(dir, 'proc', '7'), { recursive: true });
  expect(await answers()).toEqual([7, 7, 7]);
});

test('an instrument is asked on its socket again once it runs a file that opens one', async () => {
  for (const pid of ['7', '8']) mkdirSync(join(dir, 'proc', pid), { recursive: true });
  const probe = instrumentProbe(settings('v0.10.0'), clock, join(dir, 'proc'));
  startedWith('v0.9');
  expect(await probe(never)).toMatchObject({ pid: 7 });
  startedWith('v0.10', { pid: 8 });
  expect(await probe(never)).toBeNull();
  await healthy(() => ({ status: 200 }));
  expect(await probe(never)).toMatchObject({ pid: 8 });
});

test('a file that replaces the one the instrument was started with does not decide how it is asked', async () => {
  mkdirSync(join(dir, 'proc', '7'), { recursive: true });
  const probe = instrumentProbe(settings('v0.10.0'), clock, join(dir, 'proc'));
  startedWith('v0.9');
  told();
  expect(await probe(never)).toBeNull();
});

test.each([
  ['that is not JSON', '{"version":1', /not JSON/],
  ['of another form', '{"version":1,"config":"x"}', /state of the instrument \//],
])('a state file %s is an error that says so', async (_what, text, words) => {
  writeFileSync(join(dir, 'state.json'), text);
  await expect(instrumentProbe(settings('v0.10.0'), clock)(never)).rejects.toThrow(words);
});
