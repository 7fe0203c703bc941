import { jest } from '@jest/globals';
import { runPluginHere } from '../../../testing/plugin/plugin-run.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import type { RestClient } from '../../../kube/index.ts';
import type { QueryServer } from '../connect/query-server.ts';
import type { Host } from '../host.ts';
import { complete } from './complete.ts';

const silent = { write: () => {}, drained: async () => {}, isTerminal: false, columns: 80, rows: 24 };
const host = (parts: Partial<Host> = {}): Host => ({
  stdout: silent,
  stderr: silent,
  readStdin: async () => '',
  env: {},
  clock: new FakeClock(),
  signal: new AbortController().signal,
  ...parts,
});
const asked: string[] = [];
const inCluster = host({
  kube: () =>
    ({
      list: async () => ({ items: ['shop', 'bank'].map((name) => ({ metadata: { name } })) }),
      close: async () => {},
    }) as unknown as RestClient,
  connect: async () =>
    ({
      target: 'test',
      request: async ({ path }: { path: string }) => {
        asked.push(path);
        return { status: 200, headers: {}, text: JSON.stringify({ status: 'success', data: ['svc_agent_up'] }) };
      },
      close: () => {},
    }) as unknown as QueryServer,
});

const words = (text: string): string[] => text.split('\n').map((line) => line.split('\t')[0]!);

test('commands are offered with their summaries, and flags of a command together with the common flags', async () => {
  expect(await complete(['que'], host())).toBe('query\trun a PromQL query over all nodes\n:4\n');
  expect(words(await complete(['query', '--s'], host()))).toEqual([
    '--since',
    '--start',
    '--step',
    '--stats',
    '--server',
    ':4',
    '',
  ]);
});

test('values of a fixed set are offered after their flag, also after an equals sign', async () => {
  expect(words(await complete(['top', '-A', '--sort-by', 'p'], host()))).toEqual(['p50', 'p99', ':4', '']);
  expect(words(await complete(['top', '--sort-by=p5'], host()))).toEqual(['p50', ':4', '']);
  expect(words(await complete(['top', '--sort-by', 'p50', 'n'], host()))).toEqual(['namespaces', 'nodes', ':4', '']);
  expect(words(await complete(['top', 'pods', ''], host()))).toEqual([':4', '']);
});

test('namespaces and metrics are those of the cluster', async () => {
  expect(await complete(['top', '-n', 's'], inCluster)).toBe('shop\n:4\n');
  expect(await complete(['top', '--namespace', ''], inCluster)).toBe('shop\nbank\n:4\n');
  expect(await complete(['query', 'svc_'], inCluster)).toBe('svc_agent_up\n:4\n');
  expect(decodeURIComponent(asked[0]!.replaceAll('+', ' '))).toContain('match[]={__name__=~"svc_.*"}');
  expect(await complete(['query', 'sum('], inCluster)).toBe(':4\n');
});

test('an empty flag or variable counts as not given, as in the command itself', async () => {
  const kube = Object.assign(inCluster.kube!(), { namespace: 'mine' });
  const list = jest.spyOn(kube, 'list');
  const given = { ...inCluster, env: { SVC_NAMESPACE: '', SVC_SERVER: '', SVC_TOKEN: '' }, kube: () => kube };
  expect(await complete(['status', 'tm', '-n', '', ''], given)).toBe('shop\nbank\n:4\n');
  expect(list).toHaveBeenCalledWith(expect.anything(), expect.objectContaining({ namespace: 'mine' }));
});

test('the value of a flag that takes a file is left to the shell', async () => {
  expect(await complete(['query', '-f', ''], host())).toBe(':0\n');
});

test('without a cluster, completion offers nothing and prints no error', async () => {
  const told: string[] = [];
  const output = { ...silent, write: (text: string) => void told.push(text) };
  const broken = host({
    stdout: output,
    stderr: output,
    kube: () => {
      throw new Error('no kubeconfig');
    },
    connect: () => Promise.reject(new Error('no')),
  });
  expect(await complete(['top', '-n', ''], broken)).toBe(':4\n');
  expect(await complete(['query', 'up'], broken)).toBe(':4\n');
  expect(await complete(['top', '--context', ''], broken)).toBe(':4\n');
  expect(told).toEqual([]);
});

test('the script for a shell completes kubectl-svc under its own name', async () => {
  const { stdout } = await runPluginHere(['completion', 'bash']);
  expect(stdout).toContain('complete -o default -F _kubectl-svc kubectl-svc');
  expect(stdout).toContain('kubectl-svc __complete');
  const wrong = await runPluginHere(['completion', 'tcsh']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('bash, zsh, fish')]);
});
