import { FakeClock } from '../../testing/fake-clock.ts';
import type { PluginCommand } from './command.ts';
import { PluginError } from './errors.ts';
import type { Host } from './host.ts';
import { runPlugin } from './program.ts';

const told: string[] = [];
const host = (signal = new AbortController().signal): Host => {
  told.length = 0;
  const write = (text: string): void => void told.push(text);
  const output = { write, drained: async () => {}, isTerminal: false, columns: 100, rows: 24 };
  return { stdout: output, stderr: output, readStdin: async () => '', env: {}, clock: new FakeClock(), signal };
};
const seen: unknown[] = [];
const command = (
  name: string,
  work: () => Promise<number | void>,
  more: Partial<PluginCommand> = {},
): PluginCommand => ({
  name,
  summary: `does ${name}`,
  load: async () => (one, run) =>
    void one.argument('[word]').action(
      run(async (session, word: string | undefined) => {
        seen.push(word, await session.namespace());
        return work();
      }),
    ),
  ...more,
});
const commands = [
  command('fine', async () => {}),
  command('top', async () => {}),
  command('three', async () => 3),
  command('broken', () => Promise.reject(new PluginError('ERR_API_REQUEST', 'no', { hints: ['do this'] })), {
    errorCode: 2,
  }),
  command('unloadable', async () => {}, { load: () => Promise.reject(new Error('loaded')) }),
];
beforeEach(() => void seen.splice(0));

test('common flags may stand before and after a command, and their values are not taken for commands', async () => {
  expect(await runPlugin(['-n', 'top', 'fine', 'x'], host(), commands)).toBe(0);
  expect(await runPlugin(['fine', 'top', '-A'], host(), commands)).toBe(0);
  expect(seen).toEqual(['x', 'top', 'top', undefined]);
});

test.each([
  ['a common flag', (name: string) => [`--${name}`, ''], false],
  ['a variable', () => [], true],
])('%s with an empty value counts as not given, as for kubectl', async (_what, words, isSet) => {
  const one = command('one', async () => {}, {
    load: async () => (it, run) => void it.action(run(async ({ flags }) => void seen.push(flags))),
  });
  const cluster = ['namespace', 'kubeconfig', 'context', 'as', 'operator-namespace'];
  const names = [...cluster, 'server', 'token', 'certificate-authority', 'tls-server-name'];
  const before = { ...process.env };
  if (isSet) Object.assign(process.env, { SVC_NAMESPACE: '', SVC_SERVER: '', SVC_TOKEN: '' });
  const code = await runPlugin(['one', '-A', ...names.flatMap(words)], host(), [one]);
  process.env = before;
  expect([told, code]).toEqual([[], 0]);
  expect(seen).toStrictEqual([{ allNamespaces: true, insecureSkipTlsVerify: false, operatorNamespace: 'svc-system' }]);
});

test('the help shows commands first and loads none of them', async () => {
  for (const args of [[], ['--help'], ['help']]) {
    expect(await runPlugin(args, host(), commands)).toBe(0);
    const text = told.join('');
    expect(text.indexOf('Commands:')).toBeLessThan(text.indexOf('--kubeconfig'));
    expect(text).toContain('unloadable');
  }
});

test('the exit code is that of the command, or that of its error', async () => {
  expect(await runPlugin(['three', '-A'], host(), commands)).toBe(3);
  expect(await runPlugin(['broken', '-A'], host(), commands)).toBe(2);
  expect(told.join('')).toBe('error: no\n  do this\n');
  expect(await runPlugin(['fine', '-A', '--frob'], host(), commands)).toBe(2);
  expect(await runPlugin(['frob'], host(), commands)).toBe(2);
  expect(await runPlugin(['fine', '-n'], host(), commands)).toBe(2);
  expect(await runPlugin(['fine', '-n', 'x', '-A'], host(), commands)).toBe(2);
});

test('a failure because of Ctrl-C prints nothing and ends with 130', async () => {
  const signal = AbortSignal.abort();
  expect(await runPlugin(['broken', '-A'], host(signal), commands)).toBe(130);
  expect(told).toEqual([]);
});
