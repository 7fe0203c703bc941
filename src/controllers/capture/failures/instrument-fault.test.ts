import type { ContainerStatus } from '../../../api/statuses.ts';
import { instrumentFault, instrumentWait, isLasting } from './instrument-fault.ts';

const ended = (message: string, more: object = {}): ContainerStatus[] => [
  { name: 'agent' },
  {
    name: 'instrument',
    state: {},
    lastState: { terminated: { exitCode: 255, reason: 'Error', message, finishedAt: '2026-01-01T00:00:00Z', ...more } },
  },
];
const line = (msg: string, more = ''): string => `time=2026-01-01T00:00:00Z level=ERROR msg="${msg}"${more}\n`;

test.each([
  [
    'a missing capability',
    line(
      "can't start OpenTelemetry eBPF Instrumentation: the following capabilities are required: CAP_SYS_PTRACE, CAP_BPF",
    ),
    'MissingCapability',
    'CAP_SYS_PTRACE, CAP_BPF',
  ],
  [
    'capabilities named in a separate field',
    line("can't start OpenTelemetry eBPF Instrumentation", ' error="the following capabilities are required: CAP_BPF"'),
    'MissingCapability',
    'CAP_BPF',
  ],
  [
    'a value outside the allowed set',
    line(
      'wrong configuration',
      ` error="Key: 'Config.Source' Error:Field validation for 'Source' failed on the 'oneof' tag"`,
    ),
    'ConfigRefused',
    "wrong configuration: Key: 'Config.Source' Error:Field validation for 'Source' failed on the 'oneof' tag",
  ],
  [
    'a missing file',
    line("can't open /etc/svc/ebpf-config/config.yaml"),
    'ConfigRefused',
    "can't open /etc/svc/ebpf-config/config.yaml",
  ],
  [
    'a kernel without kprobes',
    line('can not attach stats', ' error="creating perf_kprobe PMU: kprobe not supported"'),
    'KernelUnsupported',
    'can not attach stats: creating perf_kprobe PMU: kprobe not supported',
  ],
  ['any other text', 'something\nodd happened\n', 'InstrumentCrashed', 'odd happened'],
  ['an empty log', '', 'InstrumentCrashed', 'the instrument ended with code 255'],
])('the last lines of the log give the fault: %s', (_sentence, message, reason, words) => {
  expect(instrumentFault(ended(message))).toEqual({ reason, message: words, at: '2026-01-01T00:00:00Z' });
});

const watcher = line('Unable to load eBPF watcher for process events', ' error="setting kprobe: not supported"');

test.each([
  [
    'a panic after a probe that could not be set',
    `${watcher}panic: send on closed channel\n`,
    'panic: send on closed channel',
  ],
  [
    'a panic whose stack goes through the reader of kprobes',
    'panic: nil map\n\ngoroutine 1 [running]:\ngo.example/kprobe.Load(...)\n',
    'panic: nil map',
  ],
  [
    'an exporter error after a warning about another document',
    'level=WARN msg="cannot unmarshal cloud metadata"\n' + line('ran with errors', ' error="can not export"'),
    'ran with errors: can not export',
  ],
])('only the error that ended the run is the reason, not an earlier warning: %s', (_sentence, message, words) => {
  expect(instrumentFault(ended(message))).toMatchObject({ reason: 'InstrumentCrashed', message: words });
});

test('the log of a real instrument that cannot attach to a tracepoint gives KernelUnsupported', () => {
  const error = 'setupStatsO11y: failed tracepoint attachment: neither debugfs nor tracefs are mounted';
  const log = `${watcher}level=INFO msg="exiting auto-instrumenter"\n${line('ran with errors', ` error="${error}"`)}`;
  expect(instrumentFault(ended(log))).toMatchObject({
    reason: 'KernelUnsupported',
    message: `ran with errors: ${error}`,
  });
});

test('an OOM kill is recognised by the reason that the kubelet gives', () => {
  expect(instrumentFault(ended('', { exitCode: 137, reason: 'OOMKilled' }))?.reason).toBe('OutOfMemory');
});

test.each([0, 137, 143])('a requested stop (exit code %i) is not a fault', (exitCode) => {
  expect(instrumentFault(ended(line('wrong configuration'), { exitCode }))).toBeNull();
});

test('the most recently ended run counts, and a pod without the container has no fault', () => {
  const statuses = ended(line('wrong configuration'));
  statuses[1]!.state = { terminated: { exitCode: 2, message: 'panic: late', finishedAt: 'later' } };
  expect(instrumentFault(statuses)).toEqual({ reason: 'InstrumentCrashed', message: 'panic: late', at: 'later' });
  expect(instrumentFault([{ name: 'agent' }])).toBeNull();
  expect(instrumentFault(undefined)).toBeNull();
});

test('only a fault that the next start would meet again is lasting', () => {
  expect(isLasting(instrumentFault(ended(line('wrong configuration')))!)).toBe(true);
  expect(isLasting(instrumentFault(ended('odd'))!)).toBe(false);
  const permanent = ['MissingCapability', 'KernelUnsupported', 'ConfigRefused'] as const;
  const reasons = [...permanent, 'OutOfMemory', 'InstrumentCrashed'] as const;
  expect(reasons.filter((reason) => isLasting({ reason, message: '', at: '' }))).toEqual(permanent);
});

test.each(['ENOSPC: no space left on device, write', 'open /c: too many open files'])(
  'a file that the system could not open or write says nothing about the config: %s',
  (error) => {
    const fault = instrumentFault(ended(line(`can't open /etc/svc/ebpf-config/config.yaml: ${error}`)))!;
    expect([fault.reason, isLasting(fault)]).toEqual(['InstrumentCrashed', false]);
  },
);

test('a probe for which the node has no memory says nothing about the kernel', () => {
  const fault = instrumentFault(ended(line("can't create kprobe: cannot allocate memory")))!;
  expect([fault.reason, isLasting(fault)]).toEqual(['InstrumentCrashed', false]);
});

const refused =
  'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: ' +
  "unable to start container process: error during container init: unable to apply caps: can't apply capabilities: operation not permitted";

test.each([
  ['the last terminated state', ended(refused, { exitCode: 128, reason: 'StartError' })],
  [
    'the current waiting state',
    [{ name: 'instrument', state: { waiting: { reason: 'RunContainerError', message: refused } } }],
  ],
])('capabilities that the container runtime refuses are a MissingCapability, read from %s', (_what, statuses) => {
  const fault = instrumentFault(statuses)!;
  expect(fault.reason).toBe('MissingCapability');
  expect(fault.message).toContain("can't apply capabilities: operation not permitted");
  expect(isLasting(fault)).toBe(true);
});

test('the exit code of the last run distinguishes a back-off of the kubelet from a failure', () => {
  const waits = (exitCode: number): ContainerStatus[] => [
    {
      name: 'instrument',
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
      lastState: { terminated: { exitCode } },
    },
  ];
  const message = 'nothing failed, the kubelet waits before it starts the instrument: back-off 40s';
  expect(instrumentWait(waits(0))).toEqual({ reason: 'RestartBackOff', message });
  expect(instrumentWait(waits(255))).toBeNull();
  expect(instrumentWait([{ name: 'instrument', state: { waiting: { reason: 'ContainerCreating' } } }])).toBeNull();
  expect(instrumentWait(undefined)).toBeNull();
});

test.each(['ErrImagePull', 'ImagePullBackOff'])(
  'an instrument that ended, whatever its exit code, and whose image cannot be pulled now, waits: %s',
  (reason) => {
    const state = { waiting: { reason, message: 'attempt 7' } };
    for (const exitCode of [0, 2, 143])
      expect(instrumentWait([{ name: 'instrument', state, lastState: { terminated: { exitCode } } }])).toEqual({
        reason: 'ImagePullFailed',
        message: 'the image of the instrument cannot be pulled',
      });
  },
);

test('the message of a fault or a wait ends with a whole character', () => {
  const fits = 'x'.repeat(299);
  expect(instrumentFault(ended(line(`${fits}\u{1f600}`)))?.message).toBe(fits);
  const state = { waiting: { reason: 'CrashLoopBackOff', message: `${fits}\u{1f600}` } };
  const lastState = { terminated: { exitCode: 0 } };
  expect(instrumentWait([{ name: 'instrument', state, lastState }])?.message).toMatch(/: x{299}$/);
});
