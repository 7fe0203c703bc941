import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InstrumentMemory } from './instrument-memory.ts';

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'proc-'));
});
afterEach(() => rmSync(proc, { recursive: true }));

function aProcess(pid: string, comm: string, cgroup: string, kilobytes = 0): void {
  mkdirSync(join(proc, pid));
  writeFileSync(join(proc, pid, 'comm'), `${comm}\n`);
  writeFileSync(join(proc, pid, 'cgroup'), `0::${cgroup}\n`);
  writeFileSync(join(proc, pid, 'status'), `Name:\t${comm}\nVmRSS:\t${String(kilobytes).padStart(8)} kB\n`);
}

test('the instrument of this pod is told from those of other pods, with and without a cgroup namespace', async () => {
  aProcess('self', 'node', '/');
  aProcess('7', 'ebpf-instrument', '/../../pod-b/x', 5);
  aProcess('9', 'ebpf-instrument', '/../cri-1', 2_048);
  expect(await new InstrumentMemory(proc).read()).toBe(2_048 * 1024);
  rmSync(proc, { recursive: true });
  mkdirSync(proc);
  aProcess('self', 'node', '/kubepods/pod-a/agent');
  aProcess('7', 'obi', '/kubepods/pod-b/obi', 5);
  aProcess('9', 'obi', '/kubepods/pod-a/obi', 1_024);
  expect(await new InstrumentMemory(proc).read()).toBe(1_024 * 1024);
});

test('a restarted instrument is found again, and one that is not seen is null', async () => {
  aProcess('self', 'node', '/');
  const memory = new InstrumentMemory(proc);
  expect(await memory.read()).toBeNull();
  aProcess('9', 'obi', '/../a', 10);
  expect(await memory.read()).toBe(10 * 1024);
  rmSync(join(proc, '9'), { recursive: true });
  aProcess('11', 'obi', '/../b', 20);
  expect(await memory.read()).toBe(20 * 1024);
});
