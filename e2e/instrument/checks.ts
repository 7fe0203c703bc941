import { existsSync } from 'node:fs';
import { CaptureStage, type StageNode } from '../capture/stage.ts';
import { until } from '../../src/testing/until.ts';
import type { InstrumentVersion } from '../../src/capture/index.ts';
import { refusedFiles } from './golden-files.ts';
import type { PodNetwork } from './pod-network.ts';
import { seriesOf, type Series } from './scrape.ts';
import { clientScript, lumpScript, serverScript } from './traffic.ts';

const node = 'node-1';
/** The bytes that the client sends in one TCP connection. Flows also count packet headers and other requests. */
const lumpBytes = 20 * 1024 * 1024;
/** The instrument asks for the metadata of three clouds before it starts, and waits for each answer. Units: ms. */
const patienceMs = 150_000;

/** As `until`, but waits as long as a start of the instrument may take. */
function eventually<T>(what: string, probe: () => Promise<T | undefined | false>): Promise<T> {
  return until(what, probe, { timeoutMs: patienceMs });
}

/** Runs all checks one after the other, and prints a line for each. Resolves to the number of failed checks. */
export async function runChecks(
  binary: string,
  version: InstrumentVersion,
  network: PodNetwork,
  say: (line: string) => void,
): Promise<number> {
  let failed = 0;
  const check = async (what: string, run: () => Promise<string | void>): Promise<void> => {
    const started = performance.now();
    const took = (): string => `${((performance.now() - started) / 1000).toFixed(0)} s`;
    try {
      const found = await run();
      say(`ok   ${what}${found ? `: ${found}` : ''} (${took()})`);
    } catch (error) {
      failed++;
      say(`FAIL ${what}: ${(error as Error).message} (${took()})`);
    }
  };
  const kprobes = existsSync('/sys/bus/event_source/devices/kprobe');
  say(
    `kernel ${kprobes ? 'with' : 'without'} kprobes: requests ${kprobes ? 'are checked too' : 'cannot be captured here, and that must be told'}`,
  );
  await check('the instrument refuses none of the golden files', async () => {
    const { files, refused } = await refusedFiles(binary, version);
    if (refused.length > 0) throw new Error(refused.join('; '));
    return `${files} files`;
  });
  const stage = await CaptureStage.start({ instrumentVersion: version });
  try {
    const instrument = await begin(stage, binary, version, network);
    await runAll(stage, instrument, network, kprobes, check);
    if (failed > 0) say(`--- the instrument's last words\n${instrument.instrument.log.slice(-4_000)}`);
  } finally {
    await stage.stop();
  }
  return failed;
}

async function begin(
  stage: CaptureStage,
  binary: string,
  version: InstrumentVersion,
  network: PodNetwork,
): Promise<StageNode> {
  const [server, client] = [network.pod('web'), network.pod('client')];
  const uid = await stage.putPod('shop', server.name, node, { labels: { app: 'web' }, podIP: server.ip });
  const clientUid = await stage.putPod('shop', client.name, node, { labels: { app: 'client' }, podIP: client.ip });
  network.run(server, [process.execPath, '-e', serverScript], { uid });
  network.run(client, [process.execPath, '-e', clientScript(server.ip)], { uid: clientUid });
  await flowPolicy(stage);
  await stage.monitor('web', { selector: { matchLabels: { app: 'web' } }, ports: [{ port: 8080 }] });
  await stage.monitor('closed', { selector: { matchLabels: { app: 'web' } }, ports: [{ port: 7 }] });
  return stage.addNode(node, '127.0.0.1', {
    command: [binary],
    env: { OTEL_EBPF_NETWORK_AGENT_IP: server.gateway },
    // The instrument's file, the same for every node, names 127.0.0.1:4318 and @svc-obi-health, as in a pod.
    healthSocket: '@svc-obi-health',
    agentFlags: { 'kernel-check': 'true', 'instrument-version': version },
  });
}

/** Applies a policy by which the nodes capture flows: without such a policy there are none. */
function flowPolicy(stage: CaptureStage, attributes: readonly string[] = []): Promise<void> {
  return stage.apply({
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'ClusterTrafficPolicy',
    metadata: { name: 'flows' },
    spec: { network: { enabled: true, attributes }, instrument: { exportInterval: '5s' } },
  });
}

async function runAll(
  stage: CaptureStage,
  { agent, instrument }: StageNode,
  network: PodNetwork,
  kprobes: boolean,
  check: (what: string, run: () => Promise<string | void>) => Promise<void>,
): Promise<void> {
  const series = (name: string): Promise<Series[]> =>
    seriesOf(`http://127.0.0.1:${agent.port('scrape')}/metrics`, name);
  const toWeb = async (): Promise<Series[]> =>
    (await series('ebpf_network_flow_bytes')).filter(
      ({ labels: l }) => l['k8s_src_owner_name'] === 'client' && l['k8s_dst_owner_name'] === 'web',
    );
  const running = (starts: number): Promise<string> =>
    eventually('the instrument runs the newest file', async () => {
      const { nodes } = await stage.status('namespaces/shop/trafficmonitors/web');
      return instrument.starts >= starts && nodes?.desired === 1 && nodes.updated === 1 && `start ${instrument.starts}`;
    });

  await check('the instrument takes the rendered file and its start is acknowledged', () => running(1));
  await check('flows arrive as series that name both ends', () =>
    eventually('a flow from client to web', async () => {
      const [found] = await toWeb();
      if (!found) return false;
      const { labels } = found;
      if (labels['k8s_src_namespace'] !== 'shop' || labels['k8s_dst_namespace'] !== 'shop')
        throw new Error(JSON.stringify(labels));
      if (labels['k8s_node_name'] !== node) throw new Error(`no node: ${JSON.stringify(labels)}`);
      return JSON.stringify(labels);
    }),
  );
  await check(`the bytes of a flow are those that were sent: ${lumpBytes} in one go, and small requests`, async () => {
    const sum = async (): Promise<number> => (await toWeb()).reduce((total, s) => total + s.value, 0);
    const before = await sum();
    network.run(network.pod('client'), [process.execPath, '-e', lumpScript(network.pod('web').ip, lumpBytes)]);
    return eventually('enough bytes', async () => {
      const more = (await sum()) - before;
      if (more > 1.5 * lumpBytes) throw new Error(`${more} bytes are too many`);
      return more >= lumpBytes && `${more} bytes`;
    });
  });
  if (kprobes) {
    await check('requests arrive with pod, method, status and route', () =>
      eventually('requests of web', async () => {
        const found = (await series('http_server_request_duration_count')).find(
          (s) => s.labels['k8s_pod_name'] === 'web',
        );
        return found && found.labels['http_request_method'] === 'GET' && JSON.stringify(found.labels);
      }),
    );
  } else {
    await check('the status gives the missing kprobes of the kernel as the reason', () =>
      eventually('KernelUnsupported', async () => {
        const { conditions = [] } = await stage.status('namespaces/shop/trafficmonitors/web');
        const capturing = conditions.find((c) => c.type === 'Capturing');
        if (capturing?.reason !== 'KernelUnsupported') throw new Error(`it is ${capturing?.reason}`);
        return capturing.message;
      }),
    );
  }
  const before = instrument.starts;
  await check(
    "a changed policy changes the labels of flows: the server's port appears, also for kept connections",
    async () => {
      await flowPolicy(stage, ['dst.port']);
      await running(before + 1);
      return eventually('the port', async () => {
        const found = (await toWeb()).map((s) => s.labels);
        // A kept connection is older than the instrument, which was just started; its flows need the port, too.
        const without = found.find((labels) => labels['server_port'] === undefined);
        if (without || !found.some((labels) => labels['server_port'] === '8080'))
          throw new Error(JSON.stringify(without ?? found.slice(0, 3)));
        return found.map((labels) => `${labels['direction']} to ${labels['server_port']}`).join(', ');
      });
    },
  );
  await check('a changed monitor reaches the instrument by one restart', async () => {
    const starts = instrument.starts;
    await stage.monitor('web', { selector: { matchLabels: { app: 'web' } }, ports: [{ port: 9_000 }] });
    await running(starts + 1);
    const found = `start ${instrument.starts}`;
    if (!kprobes) return `${found}; what it makes of requests cannot be seen on this kernel`;
    const count = async (): Promise<number> =>
      (await series('http_server_request_duration_count'))
        .filter((s) => s.labels['k8s_pod_name'] === 'web')
        .reduce((total, s) => total + s.value, 0);
    const last = await count();
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    if ((await count()) !== last) throw new Error('requests of the port that was taken out still count');
    return found;
  });
  await check('nothing restarts the instrument while nothing changes', async () => {
    const starts = instrument.starts;
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    if (instrument.starts !== starts) throw new Error(`${instrument.starts - starts} restarts`);
  });
}
