import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processProbe } from './process-probe.ts';

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'proc-'));
  writeFileSync(join(proc, 'stat'), 'cpu 1 2 3\nbtime 1000\nprocesses 9\n');
  process('self', { cgroup: '0::/' });
});
afterEach(() => rmSync(proc, { recursive: true }));

function process(pid: string, of: { command?: string; cgroup?: string; ticks?: number; name?: string }): void {
  mkdirSync(join(proc, pid));
  writeFileSync(join(proc, pid, 'cmdline'), `${of.command ?? '/app/svc'}\0--flag\0`);
  writeFileSync(join(proc, pid, 'cgroup'), `${of.cgroup ?? '0::/../instrument.scope'}\n`);
  const fields = [...Array<string>(18).fill('0'), String(of.ticks ?? 0), '0'];
  writeFileSync(join(proc, pid, 'stat'), `${pid} (${of.name ?? 'x'}) S ${fields.join(' ')}\n`);
}

const probe = (): ReturnType<ReturnType<typeof processProbe>> => processProbe(proc)(new AbortController().signal);

test('the instrument in a sibling container is found, and its start is in milliseconds since the epoch', async () => {
  process('12', { command: '/ebpf-instrument', ticks: 250, name: 'ebpf) (instr' });
  expect(await probe()).toEqual({ startMs: 1_002_500 });
});

test('an instrument of another pod and another program of this pod do not count', async () => {
  process('12', { command: '/obi', cgroup: '0::/../../pod-b/instrument.scope' });
  process('13', { command: '/usr/bin/nginx' });
  expect(await probe()).toBeNull();
});

test('without a cgroup namespace, containers of one pod share the whole path above their own', async () => {
  rmSync(join(proc, 'self'), { recursive: true });
  process('self', { cgroup: '5:cpu:/x\n9:memory:/kubepods/pod-a/agent' });
  process('12', { command: '/obi', cgroup: '9:memory:/kubepods/pod-a/instrument', ticks: 100 });
  process('13', { command: '/obi', cgroup: '9:memory:/kubepods/pod-b/instrument', ticks: 900 });
  expect(await probe()).toEqual({ startMs: 1_001_000 });
});

test('while an old one is still ending, the one that started last counts', async () => {
  process('12', { command: '/obi', ticks: 100 });
  process('13', { command: '/obi', ticks: 700 });
  expect(await probe()).toEqual({ startMs: 1_007_000 });
});

test('a process that ends meanwhile and a folder that cannot be read are passed over', async () => {
  mkdirSync(join(proc, '14'));
  expect(await probe()).toBeNull();
  expect(await processProbe(join(proc, 'none'))(new AbortController().signal)).toBeNull();
});
