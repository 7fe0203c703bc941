import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../testing/until.ts';
import {
  instrumentFileHash,
  orderPath,
  orderRestart,
  readRunningFile,
  readSupervisorState,
  type SupervisorState,
} from './state.ts';
import { parseArguments, Supervisor } from './supervise.ts';

let dir: string;
let config: string;
let supervisor: Supervisor | null;
let ended: Promise<number>;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'supervise-'));
  config = join(dir, 'config.yaml');
  writeFileSync(config, 'a: 1\n');
});
afterEach(async () => {
  supervisor?.stop('SIGKILL');
  await ended;
  rmSync(dir, { recursive: true });
});

/** An instrument that appends its config file to a log, and runs until a signal. */
const notes = 'cat "$OTEL_EBPF_CONFIG_PATH" >> "$LOG"; exec sleep 60';

function start(
  program: string,
  {
    stopMs = 12_000,
    pollMs = 2,
    read = (path: string): Buffer => readFileSync(path),
    say = (_level: string, _text: string): void => {},
  } = {},
): void {
  supervisor = new Supervisor({
    config,
    order: orderPath(config),
    dir: join(dir, 'own'),
    command: ['/bin/sh', '-c', program],
    env: { PATH: process.env['PATH'], LOG: join(dir, 'log') },
    pollMs,
    stopMs,
    read,
    say,
  });
  ended = supervisor.run();
}

const log = (): string => (existsSync(join(dir, 'log')) ? readFileSync(join(dir, 'log'), 'utf8') : '');
const state = (): Promise<SupervisorState | null> => readSupervisorState(join(dir, 'own'));
/** Waits until the instrument was started with this file and has read it. */
const runs = (yaml: string): Promise<SupervisorState> =>
  until(`the instrument runs ${yaml}`, async () => {
    const now = await state();
    return now?.pid != null && now.config === instrumentFileHash(yaml) && log().endsWith(yaml) ? now : null;
  });
const write = async (yaml: string): Promise<void> => {
  writeFileSync(config, yaml);
  await orderRestart(config, instrumentFileHash(yaml));
};

test('the state names the file that the instrument was started with, however often the file changes after', async () => {
  start(notes);
  const first = await until('the state', state);
  writeFileSync(config, 'a: 2\n');
  expect(await runs('a: 1\n')).toEqual(first);
  const read = (yaml: string) => readRunningFile(join(dir, 'own'), instrumentFileHash(yaml));
  expect([await read('a: 1\n'), await read('a: 2\n')]).toEqual(['a: 1\n', null]);
  expect(first).toMatchObject({ config: instrumentFileHash('a: 1\n'), starts: 1, stoppedMs: null });
});

test('an order restarts the instrument with the ordered file; the state says when the old one had to end', async () => {
  start(notes);
  const first = await runs('a: 1\n');
  await write('a: 2\n');
  const second = await runs('a: 2\n');
  expect(second.pid).not.toBe(first.pid);
  expect(second.starts).toBe(2);
  expect(second.stoppedMs).toBeGreaterThanOrEqual(first.startedMs!);
  expect(second.startedMs).toBeGreaterThanOrEqual(second.stoppedMs!);
  expect(() => process.kill(first.pid!, 0)).toThrow('ESRCH');
});

test('an order for the running file, or for bytes that are not on disk, restarts nothing', async () => {
  // The supervisor looks only when called, so that no order is overwritten before it is read.
  start(notes, { pollMs: 3_600_000 });
  const first = await runs('a: 1\n');
  const changesNothing = async (): Promise<void> => {
    supervisor!.look();
    expect(await state()).toEqual(first);
  };
  await orderRestart(config, instrumentFileHash('a: 1\n'));
  await changesNothing();
  await orderRestart(config, instrumentFileHash('never written'));
  await changesNothing();
  writeFileSync(config, 'a: 2\n');
  await orderRestart(config, instrumentFileHash('a: 3\n'));
  await changesNothing();
  await write('a: 1\n');
  await changesNothing();
  await write('a: 4\n');
  supervisor!.look();
  expect((await runs('a: 4\n')).starts).toBe(first.starts + 1);
  expect(log()).toBe('a: 1\na: 4\n');
});

test('an order whose file cannot be read is followed at a later look', async () => {
  let fault: Error | null = null;
  const read = (path: string): Buffer => {
    if (fault) throw fault;
    return readFileSync(path);
  };
  start(notes, { pollMs: 3_600_000, read });
  const first = await runs('a: 1\n');
  await write('a: 2\n');
  fault = new Error('ENFILE: file table overflow, open');
  supervisor!.look();
  expect(await state()).toEqual(first);
  fault = null;
  supervisor!.look();
  expect((await runs('a: 2\n')).starts).toBe(2);
});

test('while the ordered file cannot be copied, the instrument runs on; it restarts once there is room', async () => {
  start(notes, { pollMs: 3_600_000 });
  const first = await runs('a: 1\n');
  const blocked = join(dir, 'own', 'config.yaml.tmp');
  mkdirSync(blocked);
  await write('a: 2\n');
  supervisor!.look();
  expect(await state()).toEqual(first);
  expect(() => process.kill(first.pid!, 0)).not.toThrow();
  rmSync(blocked, { recursive: true });
  supervisor!.look();
  expect((await runs('a: 2\n')).starts).toBe(2);
});

test('a copy that fails because its folder is gone is logged once', async () => {
  const said: string[] = [];
  start(notes, { pollMs: 3_600_000, say: (level, text) => void said.push(`${level} ${text}`) });
  await runs('a: 1\n');
  rmSync(join(dir, 'own'), { recursive: true });
  await write('a: 2\n');
  supervisor!.look();
  supervisor!.look();
  expect(said).toEqual([expect.stringMatching(/^WARN the instrument keeps its configuration: ENOENT/)]);
});

test('a state that cannot be written is written once it can be', async () => {
  start(notes);
  await runs('a: 1\n');
  const blocked = join(dir, 'own', 'state.json.tmp');
  mkdirSync(blocked);
  await write('a: 2\n');
  await until('the second file', () => log().endsWith('a: 2\n'));
  rmSync(blocked, { recursive: true });
  expect((await runs('a: 2\n')).starts).toBe(2);
});

test('an instrument that ends by itself ends the supervisor with its code; the state names no process', async () => {
  start('exit 255');
  expect(await ended).toBe(255);
  expect(await state()).toMatchObject({ pid: null, starts: 1 });
});

test('an instrument that a signal ends gives 128 plus the signal, as a kubelet reports it', async () => {
  start('kill -9 $$');
  expect(await ended).toBe(137);
});

test('SIGTERM is passed on, and the supervisor ends with the exit code of the instrument', async () => {
  start('trap "exit 0" TERM; cat "$OTEL_EBPF_CONFIG_PATH" >> "$LOG"; while :; do sleep 0.01; done');
  await runs('a: 1\n');
  supervisor!.stop('SIGTERM');
  expect(await ended).toBe(0);
});

test('an instrument that does not end in its time is killed, and the next one starts', async () => {
  start('trap "" TERM; cat "$OTEL_EBPF_CONFIG_PATH" >> "$LOG"; while :; do sleep 0.01; done', { stopMs: 20 });
  const first = await runs('a: 1\n');
  await write('a: 2\n');
  expect((await runs('a: 2\n')).starts).toBe(2);
  expect(() => process.kill(first.pid!, 0)).toThrow('ESRCH');
});

/** Runs an instrument until it ends by itself, then lets nothing be copied any more, as on a full disk. */
const endOnFullDisk = async (): Promise<void> => {
  start('exit 137');
  expect(await ended).toBe(137);
  mkdirSync(join(dir, 'own', 'config.yaml.tmp'));
};

test('on a full disk the instrument starts again with the config that was copied before', async () => {
  await endOnFullDisk();
  const said: string[] = [];
  start(notes, { say: (level, text) => void said.push(`${level} ${text}`) });
  await runs('a: 1\n');
  expect(said).toEqual([]);
});

test('on a full disk the instrument starts with the last copy of another config, and follows the order later', async () => {
  await endOnFullDisk();
  await write('a: 2\n');
  const said: string[] = [];
  start(notes, { pollMs: 3_600_000, say: (level, text) => void said.push(`${level} ${text}`) });
  await runs('a: 1\n');
  expect(said).toEqual([
    expect.stringMatching(/^WARN the instrument starts with the configuration of its last run: EISDIR/),
  ]);
  rmSync(join(dir, 'own', 'config.yaml.tmp'), { recursive: true });
  supervisor!.look();
  await runs('a: 2\n');
});

test('on a full disk a copy that a power loss has emptied is none: the supervisor ends with 255', async () => {
  await endOnFullDisk();
  writeFileSync(join(dir, 'own', 'config.yaml'), '');
  start('exit 0');
  expect(await ended).toBe(255);
});

test('a config that cannot be copied ends the supervisor with 255 when there is no copy yet', async () => {
  mkdirSync(join(dir, 'own', 'config.yaml.tmp'), { recursive: true });
  start(notes);
  expect(await ended).toBe(255);
});

test('without a config file the supervisor ends with 255, as the instrument would', async () => {
  rmSync(config);
  start(notes);
  expect(await ended).toBe(255);
});

test('a program that cannot be started ends the supervisor with 127', async () => {
  supervisor = new Supervisor({
    config,
    order: orderPath(config),
    dir: join(dir, 'own'),
    command: [join(dir, 'none')],
    env: {},
    say: () => {},
  });
  ended = supervisor.run();
  expect(await ended).toBe(127);
});

const flags = ['--config=/c', '--order=/o', '--dir=/d'];

test('the first listed program that the image has is started; a variable overrides the list', () => {
  supervisor = null;
  expect(parseArguments([...flags, '--', '/none', '/bin/sh', '/bin/cat'], {})).toMatchObject({ command: ['/bin/sh'] });
  const env = { SVC_INSTRUMENT_COMMAND: '["/opt/obi","-x"]' };
  expect(parseArguments([...flags, '--', '/bin/sh'], env)).toMatchObject({ command: ['/opt/obi', '-x'] });
});

test.each([
  ['a missing flag', flags.slice(1), {}, /^usage: supervise --config=/],
  ['no program', [...flags, '--', '/none'], {}, /^the image has none of \/none/],
  ['a command that is not a list', [...flags, '--', '/bin/sh'], { SVC_INSTRUMENT_COMMAND: '{}' }, /JSON array/],
  ['a command that is not JSON', [...flags, '--', '/bin/sh'], { SVC_INSTRUMENT_COMMAND: '/obi' }, /JSON array/],
])('%s is refused with a message', (_what, argv, env, words) => {
  supervisor = null;
  expect(parseArguments(argv, env)).toMatch(words);
});
