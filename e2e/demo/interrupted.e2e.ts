import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { until } from '../../src/testing/until.ts';
import { kubernetesVersion } from '../cluster/binaries.ts';
import { interruptHandler } from '../cluster/interrupt.ts';
import { exited, processIdentity } from '../cluster/processes.ts';
import { release } from '../cluster/releases.ts';
import { play } from './play.ts';
import { createReport } from './report.ts';
import type { Stage } from './stage.ts';

let temp: string;
beforeEach(() => {
  temp = mkdtempSync(join(tmpdir(), 'svc-interrupted-'));
});
afterEach(() => rmSync(temp, { recursive: true, force: true, maxRetries: 5 }));

interface Demo {
  process: ChildProcess;
  /** What it has written to stdout so far. */
  shown(): string;
}

/** Runs the demo with `temp` as its temporary folder during `watch`. */
async function withDemo(args: string[], more: NodeJS.ProcessEnv, watch: (demo: Demo) => Promise<void>): Promise<void> {
  // Without `ip` on the PATH the run takes no network. It must take none: its registry, in a folder of its own, does
  // not know which networks other runs have taken.
  const { XDG_CACHE_HOME, KUBEBUILDER_ASSETS, HOME } = process.env;
  const env = { XDG_CACHE_HOME, KUBEBUILDER_ASSETS, HOME, PATH: '/nonexistent', TMPDIR: temp, ...more };
  const demo = spawn(process.execPath, [fileURLToPath(new URL('./demo.ts', import.meta.url)), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let shown = '';
  demo.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  try {
    await watch({ process: demo, shown: () => shown });
  } finally {
    demo.kill('SIGKILL');
  }
}

test('Ctrl-C while the demo starts leaves nothing in the temporary folder', async () => {
  const runs = join(temp, `svc-cluster-${process.getuid?.() ?? 0}`, 'data');
  const hasWal = (run: string): boolean => existsSync(join(runs, run, 'etcd/member/wal'));
  await withDemo([], {}, async (demo) => {
    await until('etcd has written its first files', async () => readdirSync(runs).some(hasWal), { timeoutMs: 60_000 });
    expect(readdirSync(temp).some((name) => name.startsWith('svc-outside-'))).toBe(true);
    demo.process.kill('SIGINT');
    await exited(demo.process);
    expect([demo.process.exitCode, demo.shown().includes('stopping: ')]).toEqual([130, true]);
    await until('the temporary folder is empty', async () => readdirSync(temp).length === 0);
  });
});

test('Ctrl-C ends the demo while it waits for another build', async () => {
  const programs = join(temp, 'svc-operator/kube');
  mkdirSync(programs, { recursive: true });
  for (const name of [kubernetesVersion(), `${release.version}-published`])
    writeFileSync(join(programs, `${name}.lock`), `${process.pid} ${processIdentity(process.pid)}`);
  await withDemo([], { XDG_CACHE_HOME: temp, KUBEBUILDER_ASSETS: undefined }, async (demo) => {
    await until('the demo waits', async () => demo.shown().includes('waiting for another build'));
    demo.process.kill('SIGINT');
    await exited(demo.process);
    expect([demo.process.exitCode, demo.shown().includes('✘')]).toEqual([130, false]);
  });
}, 60_000);

/** The demo in this process over a stage where every check is as expected; `onLine` gets its lines. */
async function playOnce(onLine: (line: string, interrupt: () => void) => void) {
  const interrupted = new AbortController();
  const { signal } = interrupted;
  const lines: string[] = [];
  const write = (line: string): void => {
    lines.push(line);
    onLine(line, () => interrupted.abort());
  };
  const report = createReport({ write });
  const code = await play({ report, start: async () => fakeStage(signal), once: true, signal });
  return { code, lines, failures: report.failures };
}

test('a tour that comes to its end has code 0, also if Ctrl-C comes after it', async () => {
  const whole = await playOnce(() => {});
  expect([whole.code, whole.failures]).toEqual([0, []]);
  expect(whole.lines.at(-1)).toContain('demo: every line was as expected');
  const stopped = await playOnce((line, interrupt) => line.includes('To look at') && interrupt());
  expect([stopped.code, stopped.lines.at(-1)]).toEqual([0, 'demo: stopped\n']);
});

test.each(['$ kubectl get ctp', 'PromQL, evaluated', '$ kubectl svc top', 'The minter', 'A node dies'])(
  'Ctrl-C after the line "%s" ends the tour with code 130, without another line',
  async (last) => {
    const { code, lines, failures } = await playOnce((line, interrupt) => line.includes(last) && interrupt());
    expect([code, failures]).toEqual([130, []]);
    expect(lines.at(-1)).toContain(last);
  },
  20_000,
);

/** A stage with one node, where every check of the tour is as expected until the signal, and none is afterwards. */
function fakeStage(signal: AbortSignal): Stage {
  const kubectl = join(temp, 'kubectl');
  writeFileSync(kubectl, '#!/bin/sh\necho catalog checkout node-1\n', { mode: 0o755 });
  let isLost = false;
  const node = { name: 'node-1', kill: async () => void (isLost = true), revive: async () => void (isLost = false) };
  const sample = (value: number, metric = {}) => ({ metric, value: [0, String(value)] });
  const query = async (promql: string) => {
    const rates = ['catalog', 'checkout'].map((service) => sample(2, { service_name: service }));
    const up = [sample(isLost ? 0 : 1)];
    const result = promql.includes('rate') ? rates : up;
    const data = { resultType: 'vector', result: signal.aborted ? [] : result };
    return {
      status: 200,
      body: { status: 'success', degraded: isLost, missingNodes: isLost ? ['node-1'] : [], data },
    };
  };
  return {
    cluster: { kubectl: async () => 'NAME\n', nodes: [node], binaries: { kubectl }, kubeconfig: '' },
    queryTarget: { port: 1 },
    query,
    mint: async (email: string) =>
      email.startsWith('platform-agent@') && !signal.aborted
        ? { status: 200, body: 'x'.repeat(40) }
        : { status: 403, body: 'no' },
    stop: async () => {},
  } as unknown as Stage;
}

test('a second Ctrl-C ends the demo at once, but not the copy of the first that npm forwards', async () => {
  const clock = new FakeClock();
  const called: string[] = [];
  const signal = interruptHandler(
    () => called.push('stop'),
    () => called.push('exit'),
    clock,
  );
  signal();
  signal();
  expect(called).toEqual(['stop']);
  await clock.advance(2_000);
  signal();
  expect(called).toEqual(['stop', 'exit']);
});
