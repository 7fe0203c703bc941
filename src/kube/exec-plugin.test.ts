import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errorText } from '../base/errors.ts';
import { createCa } from '../net/ca.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/until.ts';
import { coreResources, createKubeClient } from './index.ts';
import { fullConfig, loadKubeSettings } from './kubeconfig.ts';

let dir: string;
let server: Server;
/** The `authorization` of each request. */
let sent: (string | undefined)[];
/** The `authorization` that the server refuses with 401. */
let refused: string | undefined;
const terminal = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
const atTerminal = (value: boolean): void =>
  void Object.defineProperty(process.stderr, 'isTTY', { value, configurable: true });

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'svc-exec-plugin-'));
  mkdirSync(join(dir, 'bin'));
  sent = [];
  refused = undefined;
  server = createServer(({ headers: { authorization } }, response) => {
    sent.push(authorization);
    if (refused !== undefined && authorization === refused) response.writeHead(401);
    response.end('{"major":"1"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atTerminal(false);
});
afterEach(async () => {
  if (terminal) Object.defineProperty(process.stderr, 'isTTY', terminal);
  else Reflect.deleteProperty(process.stderr, 'isTTY');
  rmSync(dir, { recursive: true });
  await new Promise((resolve) => server.close(resolve));
});

const write = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
const config = (user: object): string => {
  const { port } = server.address() as AddressInfo;
  const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
  return JSON.stringify({
    'current-context': 'one',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
  });
};
/** Writes a plugin as a shell script in the folder of the kubeconfig. It counts its runs in the file `runs`. */
const plugin = (...lines: string[]): void =>
  chmodSync(write('bin/plugin', ['#!/bin/sh', `cd '${dir}'`, 'echo run >> runs', ...lines, ''].join('\n')), 0o755);
const exec = (over: object = {}): object => ({
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './bin/plugin',
    interactiveMode: 'IfAvailable',
    ...over,
  },
});
const runs = (): number => readFileSync(join(dir, 'runs'), 'utf8').split('\n').length - 1;
/** A line that answers with the token `t1` in the first run, `t2` in the second. */
const answers = (expirationTimestamp?: string): string => {
  const status = { token: 'T', expirationTimestamp };
  return `echo '${JSON.stringify({ kind: 'ExecCredential', status })}' | sed "s/T\"/t$(wc -l < runs)\"/"`;
};
/** Lines that wait for the file `go`. */
const waits = ['echo $$ > pid', 'while [ ! -e go ]; do sleep 0.02; done'];
const started = (): Promise<string> =>
  until('the start of the plugin', () => existsSync(join(dir, 'pid')) && readFileSync(join(dir, 'pid'), 'utf8'));

test('an exec plugin with a slash in its command is found beside the kubeconfig, as by kubectl', async () => {
  plugin(answers());
  const client = createKubeClient({ kubeconfig: write('config', config(exec())) });
  await client.getPath('/version');
  await client.close();
  expect(sent).toEqual(['Bearer t1']);
  const full = fullConfig(loadKubeSettings({ path: join(dir, 'config') }));
  expect((full.getCurrentUser()?.exec as { command: string }).command).toBe(join(dir, 'bin/plugin'));
});

test('an exec plugin runs again when its credential has expired, was refused, or its section changed, and not before', async () => {
  const clock = new FakeClock();
  const inTenMinutes = (): string => new Date(clock.now() + 600_000).toISOString();
  plugin(answers(inTenMinutes()));
  const client = createKubeClient({ kubeconfig: write('config', config(exec())), clock });
  const get = (): Promise<unknown> => client.getPath('/version');
  await get();
  plugin('exit 3');
  for (let minutes = 1; minutes < 9; minutes++) {
    await clock.advance(61_000);
    await get();
  }
  expect([runs(), new Set(sent)]).toEqual([1, new Set(['Bearer t1'])]);
  sent = [];
  await clock.advance(120_000);
  // An expired credential is not sent, and the next call tries again.
  await expect(get()).rejects.toThrow(/bin\/plugin: ended with exit code 3/);
  plugin(answers(inTenMinutes()));
  await get();
  expect([runs(), sent]).toEqual([3, ['Bearer t3']]);
  refused = 'Bearer t3';
  await clock.advance(1_001);
  await get();
  write('config', config(exec({ args: ['--other'] })));
  await clock.advance(61_000);
  await get();
  write('config', config({ token: 'plain' }));
  await clock.advance(61_000);
  await get();
  await clock.advance(600_000);
  await get();
  expect(sent.slice(1)).toEqual(['Bearer t3', 'Bearer t4', 'Bearer t5', 'Bearer plain', 'Bearer plain']);
  expect(runs()).toBe(5);
  await client.close();
});

test('an exec plugin runs again when another server than the API server has refused its token', async () => {
  const clock = new FakeClock();
  plugin(answers());
  const client = createKubeClient({ kubeconfig: write('config', config(exec())), clock });
  expect(await client.bearerToken()).toBe('t1');
  await clock.advance(61_000);
  expect(await client.bearerToken()).toBe('t1');
  client.tokenRefused();
  expect(await client.bearerToken()).toBe('t2');
  await client.close();
});

test('an exec plugin supplies a certificate with its key; an answer without a credential is an error that does not show it', async () => {
  const { cert, key } = await createCa({ commonName: 'me', now: Date.now() });
  const answer = (status: object): string => `echo '${JSON.stringify({ status })}'`;
  plugin(answer({ clientCertificateData: cert, clientKeyData: key }).replaceAll('\\n', '\\\\n'));
  const client = createKubeClient({ kubeconfig: write('config', config(exec())) });
  await client.getPath('/version');
  expect(sent).toEqual([undefined]);
  await client.close();
  for (const [line, reason] of [
    [answer({ clientCertificateData: 'x' }), 'neither a token nor a certificate with its key'],
    ['echo secret', 'the answer is not JSON'],
    ['exec yes secret', 'the answer is longer than 1048576 characters'],
  ] as const) {
    plugin(line);
    const other = createKubeClient({ kubeconfig: join(dir, 'config') });
    const failure = await other.getPath('/version').catch(errorText);
    expect(failure).toContain(reason);
    expect(failure).not.toContain('secret');
  }
});

test('an exec plugin is not waited for beyond the deadline or the signal of a call; later calls share the run', async () => {
  const clock = new FakeClock();
  plugin(...waits, answers());
  const client = createKubeClient({ kubeconfig: write('config', config(exec())), clock });
  const late = [
    client.getPath('/version', { deadlineMs: 5_000 }),
    client.portForward({ namespace: 'a', name: 'b' }, 80, { deadlineMs: 5_000 }),
  ].map((call) => expect(call).rejects.toMatchObject({ code: 'ERR_TIMEOUT' }));
  await started();
  await clock.advance(5_001);
  await Promise.all(late);
  const stop = new AbortController();
  const stopped = [
    client.getPath('/version', { signal: stop.signal }),
    client.bearerToken({ signal: stop.signal }),
    client.watch(coreResources.configMaps, { signal: stop.signal }).next(),
  ].map((call) => expect(call).rejects.toMatchObject({ code: 'ERR_ABORTED' }));
  stop.abort();
  await Promise.all(stopped);
  const waiting = client.getPath('/version');
  write('go', '');
  await waiting;
  expect([runs(), sent]).toEqual([1, ['Bearer t1']]);
  await client.close();
  expect(clock.pending).toBe(0);
});

test('an exec plugin that hangs where nobody attends it is ended after five minutes, and the next call runs it again', async () => {
  const clock = new FakeClock();
  plugin('trap "" TERM', ...waits);
  const client = createKubeClient({ kubeconfig: write('config', config(exec())), clock });
  const call = expect(client.getPath('/version', { deadlineMs: 600_000 })).rejects.toThrow(
    /bin\/plugin: no answer within 300 s/,
  );
  const pid = Number(await started());
  await clock.advance(300_000);
  await call;
  await until('the end of the plugin', () => !existsSync(`/proc/${pid}`));
  plugin(answers());
  await client.getPath('/version');
  expect([runs(), sent, clock.pending]).toEqual([2, ['Bearer t2'], 0]);
  await client.close();
});

test('an exec plugin is waited for at a terminal, where a person may log in, before the deadline of the call begins', async () => {
  atTerminal(true);
  const clock = new FakeClock();
  plugin(...waits, answers());
  const client = createKubeClient({ kubeconfig: write('config', config(exec())), clock });
  const login = client.getPath('/version', { deadlineMs: 5_000 });
  await started();
  await clock.advance(600_000);
  write('go', '');
  await login;
  expect(sent).toEqual(['Bearer t1']);
  await client.close();
  expect(clock.pending).toBe(0);
});

test('an exec plugin ends with its client', async () => {
  plugin(...waits);
  const client = createKubeClient({ kubeconfig: write('config', config(exec())) });
  const call = expect(client.getPath('/version')).rejects.toThrow(/ended with SIGTERM/);
  const pid = Number(await started());
  await client.close();
  await call;
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test('an exec plugin writes to our standard error, and is told that nobody can answer it', async () => {
  plugin('echo "open https://login.example" >&2', 'echo "$KUBERNETES_EXEC_INFO" >&2', answers());
  write('config', config(exec()));
  const program = `
    const { createKubeClient } = await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
    const client = createKubeClient({ kubeconfig: ${JSON.stringify(join(dir, 'config'))} });
    await client.getPath('/version');
    await client.close();`;
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  const [words, info] = stderr.trim().split('\n');
  expect(words).toBe('open https://login.example');
  expect(JSON.parse(info!)).toEqual({
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { interactive: false },
  });
  expect(sent).toEqual(['Bearer t1']);
});
