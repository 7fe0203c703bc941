/**
 * Why a node captures nothing, as reported in the status of monitors and policy, and how a repair clears the status.
 */
import { until } from '../../src/testing/until.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { CaptureStage } from './stage.ts';
import { needing } from '../../src/testing/needs.ts';
import { controlGroups, intoPodGroup } from './pod-group.ts';
import { requests } from './requests.ts';

/** A shorter back-off than a kubelet's: two instruments end repeatedly, and the test waits for their next runs. */
const backoff = { initialMs: 1_000, maxMs: 20_000, resetMs: 60_000 };

let stage: CaptureStage;
/** The pods with requests: one on each node. */
const busy = ['seen', 'caps', 'kernel', 'attached', 'metadata'];
let posting: NodeJS.Timeout;
/** A process of the pod `closed` that listens on no port. */
let idle: ChildProcess;
/** Removes the control group of `idle`; null if none can be made. */
let leaveGroup: (() => void) | null;
const script = (line: string): string[] => [
  process.execPath,
  '-e',
  `console.log(${JSON.stringify(line)}); process.exit(process.env.FAULTY ? 255 : 0)`,
];
const lastWords = `time=x level=ERROR msg="can't load the tracer" error="kprobe not supported by this kernel"`;

beforeAll(async () => {
  stage = await CaptureStage.start();
  await stage.apply({
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'ClusterTrafficPolicy',
    metadata: { name: 'default' },
    spec: { instrument: { exportInterval: '5s' } },
  });
  const faults: Record<string, object> = {
    seen: {},
    caps: { env: { STANDIN_MISSING_CAPS: 'CAP_SYS_PTRACE,CAP_BPF' } },
    kernel: { command: script(lastWords), env: { FAULTY: 'yes' } },
    attached: { env: { STANDIN_FAULTS: 'no-kprobes' } },
    metadata: { env: { STANDIN_FAULTS: 'no-metadata' } },
  };
  const names = Object.keys(faults);
  await Promise.all(
    names.map((name, i) =>
      stage.addNode(`node-${name}`, `127.61.${process.pid % 250}.${i + 1}`, { backoff, ...faults[name] }),
    ),
  );
  for (const name of [...names, 'silent']) {
    await stage.putPod('shop', name, name === 'silent' ? 'node-seen' : `node-${name}`, { labels: { app: name } });
    await stage.monitor(name, { selector: { matchLabels: { app: name } } });
  }
  const uid = await stage.putPod('shop', 'closed', 'node-seen', { labels: { app: 'closed' } });
  await stage.monitor('closed', { selector: { matchLabels: { app: 'closed' } }, ports: [{ port: 1 }] });
  idle = spawn('sleep', ['600'], { stdio: 'ignore' });
  leaveGroup = intoPodGroup(idle.pid!, uid);
  await stage.monitor('nobody', { selector: { matchLabels: { app: 'nobody' } } });
  posting = setInterval(() => {
    for (const pod of busy) void requests(stage.nodes.get(`node-${pod}`)!.sender, pod);
  }, 1_000);
}, 240_000);

afterAll(async () => {
  clearInterval(posting);
  idle?.kill('SIGKILL');
  await stage?.stop();
  leaveGroup?.();
}, 60_000);

const capturing = (monitor: string, wanted: string): Promise<true> =>
  until(
    `${monitor} is ${wanted}`,
    async () => {
      const is = await stage.condition(monitor, 'Capturing');
      if (is !== wanted) throw new Error(`it is ${is}`);
      return true as const;
    },
    { timeoutMs: 150_000 },
  );

test.each([
  ['a missing capability', 'caps', 'False/MissingCapability'],
  ['a kernel without what the instrument needs', 'kernel', 'False/KernelUnsupported'],
  ['an instrument that watches no process', 'attached', 'False/NotAttached'],
  ['data of unknown containers', 'metadata', 'False/MetadataMissing'],
  ['a pod without requests', 'silent', 'False/NoTraffic'],
  ['a selector that matches no pod', 'nobody', 'False/NoMatchingPods'],
  ['traffic on a node without a fault', 'seen', 'True/TrafficSeen'],
])('%s is reported as such', (_what, monitor, wanted) => capturing(monitor, wanted), 200_000);

// The agent finds a pod's processes by their control group; without a group it cannot know whether they listen.
needing(controlGroups).test(
  'a port on which no process of the pod listens is reported as such',
  () => capturing('closed', 'False/PortNotOpen'),
  200_000,
);

test('a node whose instrument cannot start is reported as failed by monitor and policy, with the reason', async () => {
  const status = await until('the failed node in the monitor', async () => {
    const found = await stage.status('namespaces/shop/trafficmonitors/caps');
    return found.failedNodes?.length === 1 && found;
  });
  expect(status).toMatchObject({
    nodes: { desired: 1, updated: 0, capturing: 0, failed: 1 },
    failedNodes: [{ name: 'node-caps', reason: 'MissingCapability', message: 'CAP_SYS_PTRACE, CAP_BPF' }],
  });
  expect(await stage.condition('caps', 'Ready')).toBe('False/NodesFailed');
  // The healthy nodes may become ready after the others have failed.
  const policy = await until('both failed nodes in the policy, and the others ready', async () => {
    const found = await stage.status('clustertrafficpolicies/default');
    return (found.failedNodes?.length ?? 0) === 2 && found.nodes?.ready === 3 && found;
  });
  expect(policy).toMatchObject({
    nodes: { desired: 5, updated: 3, ready: 3, failed: 2, outdated: 2 },
    failedNodes: [
      { name: 'node-caps', reason: 'MissingCapability' },
      { name: 'node-kernel', reason: 'KernelUnsupported' },
    ],
  });
  expect(policy.conditions).toContainEqual(expect.objectContaining({ type: 'Degraded', status: 'True' }));
});

test('once a node is repaired, its monitors capture and nothing is left of the fault', async () => {
  for (const name of ['caps', 'attached', 'metadata']) stage.nodes.get(`node-${name}`)!.instrument.repair();
  for (const name of ['caps', 'attached', 'metadata']) await capturing(name, 'True/TrafficSeen');
  expect(await stage.condition('caps', 'Ready')).toBe('True/Ready');
  expect((await stage.status('namespaces/shop/trafficmonitors/caps')).failedNodes ?? []).toEqual([]);
  const policy = await until('one failed node in the policy', async () => {
    const found = await stage.status('clustertrafficpolicies/default');
    return found.failedNodes?.length === 1 && found;
  });
  expect(policy).toMatchObject({ nodes: { desired: 5, updated: 4, failed: 1 } });
}, 200_000);
