import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { silentLogger } from '../../base/logger.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { CaptureMonitorRule } from '../../capture/index.ts';
import { kernelFault, listeningPorts, perfEventParanoid } from './capture-facts.ts';
import { type CaptureFacts, obstacleOf, ObstacleWatch } from './obstacles.ts';

const rule = { namespace: 'shop', name: 'm', uid: 'u', pods: ['a', 'b'], ports: '8080,9000-9010' };
const fine: CaptureFacts = {
  runningMs: 120_000,
  kernel: null,
  attached: 3,
  paranoid: 2,
  unplaced: 0,
  ports: () => new Set([22, 9005]),
};

describe('a monitor without data', () => {
  test('has no obstacle where all is in place', () => expect(obstacleOf(rule, fine)).toBeNull());
  test('has no obstacle yet while the instrument has just started', () => {
    expect(obstacleOf(rule, { ...fine, runningMs: 59_000, kernel: 'no', attached: 0 })).toBeNull();
  });
  test.each<[string, Partial<CaptureFacts>, object]>([
    [
      'a kernel without kprobes',
      { kernel: 'the kernel has no kprobes', attached: 0 },
      { reason: 'KernelUnsupported', message: 'the kernel has no kprobes' },
    ],
    [
      'ports that none of its pods has open',
      { ports: () => new Set([80]), attached: 0 },
      { reason: 'PortNotOpen', message: 'pod a and 1 more does not listen on 8080,9000-9010' },
    ],
    ['an instrument that watches nothing', { attached: 0 }, { reason: 'NotAttached' }],
    [
      'a kernel that refuses probes to all but SYS_ADMIN',
      { attached: 0, paranoid: 3 },
      { reason: 'NotAttached', message: expect.stringMatching(/perf_event_paranoid is 3.*--instrument-privileges/) },
    ],
    ['data of unknown containers', { unplaced: 4 }, { reason: 'MetadataMissing' }],
  ])('meets the obstacle: %s', (_sentence, facts, expected) => {
    expect(obstacleOf(rule, { ...fine, ...facts })).toMatchObject(expected);
  });
  test('has no PortNotOpen when one pod cannot be seen or has one of the ports open, or when no port is named', () => {
    const closed = new Set([80]);
    expect(obstacleOf(rule, { ...fine, ports: (_, pod) => (pod === 'a' ? closed : null) })).toBeNull();
    expect(obstacleOf(rule, { ...fine, ports: (_, pod) => (pod === 'a' ? closed : new Set([8080])) })).toBeNull();
    expect(obstacleOf({ namespace: 'shop', pods: ['a'] }, { ...fine, ports: () => closed })).toBeNull();
  });
});

test('of a long list of ports, the obstacle names the first ones and the number of the others', () => {
  const ports = Array.from({ length: 64 }, (_, i) => `${10_000 + 10 * i}-${10_005 + 10 * i}`).join(',');
  const found = obstacleOf({ ...rule, pods: ['a'.repeat(253)], ports }, fine)!;
  expect(found.message).toBe(
    `pod ${'a'.repeat(253)} does not listen on 10000-10005,10010-10015,10020-10025 and 61 more`,
  );
});

test('facts are read only for monitors without samples, limits always; a sample clears an obstacle', async () => {
  const clock = new FakeClock(1_000_000_000);
  const monitor: { rule: CaptureMonitorRule; lastSampleAt: number | null } = { rule, lastSampleAt: null };
  const busy = { rule: { ...rule, name: 'busy' }, lastSampleAt: clock.monotonic() + 15_000 };
  const asked: string[][] = [];
  const limit = { certain: true, message: 'no Go' };
  const watch = new ObstacleWatch({
    clock,
    logger: silentLogger,
    monitors: () => [busy, monitor],
    facts: (idle) => {
      asked.push(idle.map(({ name }) => name));
      return Promise.resolve({ ...fine, attached: 0 });
    },
    isHere: () => true,
    limits: () => Promise.resolve(asked.length === 0 ? [limit] : []),
  });
  watch.start();
  await clock.advance(15_000);
  expect(watch.of(rule).obstacle?.reason).toBe('NotAttached');
  expect(watch.of(busy.rule)).toEqual({});
  expect(watch.limits).toEqual({ limits: [limit] });
  clock.jumpWall(3_600_000);
  busy.lastSampleAt = clock.monotonic() + 15_000;
  monitor.lastSampleAt = clock.monotonic();
  await clock.advance(15_000);
  expect(watch.of(rule)).toEqual({});
  expect(watch.limits).toEqual({});
  expect(asked).toEqual([['m']]);
  watch.stop();
});

test('pods that have left the node explain nothing: neither that a port is not open, nor that there is no data', async () => {
  const clock = new FakeClock();
  const watch = new ObstacleWatch({
    ...{ clock, logger: silentLogger, limits: () => Promise.resolve([]) },
    monitors: () => [rule, { ...rule, name: 'gone', pods: ['a'] }].map((one) => ({ rule: one, lastSampleAt: null })),
    isHere: (namespace, pod) => namespace === 'shop' && pod === 'b',
    facts: () => Promise.resolve({ ...fine, ports: (_, pod) => (pod === 'b' ? new Set([80]) : null) }),
  });
  watch.start();
  await clock.advance(15_000);
  const message = 'pod b does not listen on 8080,9000-9010';
  expect(watch.of(rule).obstacle).toEqual({ reason: 'PortNotOpen', message });
  expect(watch.of({ ...rule, name: 'gone' })).toEqual({});
  watch.stop();
});

describe('facts read from the system', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'facts-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const put = (path: string, text = ''): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  test('a pod listens on the ports of its processes, in whatever form a cgroup names the pod', async () => {
    const header = '  sl  local_address rem_address   st\n';
    const [a, b, hidden] = ['0', '1', '2'].map((n) => `${n}1234567-89ab-cdef-0123-456789abcdef`) as [
      string,
      string,
      string,
    ];
    put('self/cgroup', '0::/');
    put('7/cgroup', `0::/../../kubepods-burstable-pod${a.replaceAll('-', '_')}.slice/cri-containerd-1.scope\n`);
    put('7/net/tcp', `${header}   0: 00000000:1F90 00000000:0000 0A\n   1: 0100007F:0050 0100007F:1F90 01\n`);
    put(
      '7/net/tcp6',
      `${header}   0: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A\n`,
    );
    put('8/cgroup', `4:memory:/kubepods/pod${b}/x\n`);
    put('8/net/tcp', header);
    put('9/cgroup', `0::/kubepods/pod${hidden}/x\n`);
    const ports = await listeningPorts(new Set([a, b, hidden]), root);
    expect([...ports.get(a)!]).toEqual([8080, 443]);
    expect([...ports.get(b)!]).toEqual([]);
    expect(ports.has(hidden)).toBe(false);
  });

  test('perf_event_paranoid is read as a number, and is null where it is missing', async () => {
    expect(await perfEventParanoid(root)).toBeNull();
    put('sys/kernel/perf_event_paranoid', '3\n');
    expect(await perfEventParanoid(root)).toBe(3);
    put('sys/kernel/perf_event_paranoid', '-1\n');
    expect(await perfEventParanoid(root)).toBe(-1);
  });

  test('a kernel is judged by sysfs, and not at all if sysfs shows nothing', async () => {
    expect(await kernelFault(root)).toBeNull();
    put('kernel/notes');
    put('bus/event_source/devices/software/type');
    expect(await kernelFault(root)).toBe('the kernel has no kprobes and no type information (BTF)');
    put('bus/event_source/devices/kprobe/type');
    put('kernel/btf/vmlinux');
    expect(await kernelFault(root)).toBeNull();
  });
});
