/**
 * A stand-in for the eBPF instrument, for machines whose kernel cannot run it. It behaves like the instrument towards
 * everything around it, and captures nothing by itself.
 *
 * Like the real instrument: it reads its file once and ends with code 255 for the same mistakes; it ends immediately
 * when a capability is missing and enforcement is on; it answers on the health socket; the discovery entries of its
 * file decide whose data it passes on; it adds the Kubernetes attributes; it posts cumulative metrics each interval,
 * along with empty posts and info metrics; SIGTERM ends it with code 0.
 *
 * Unlike the real instrument: it runs no program in the kernel. Services instrument their own HTTP traffic with the
 * OpenTelemetry SDK and post to `STANDIN_LISTEN`; every number comes from these services. Therefore the stand-in knows
 * no body sizes, no protocols but HTTP, and no requests of a process that does not report itself. Flows are the TCP
 * payload that the kernel counts for each socket (`ss`, once a second), of processes whose environment names their pod;
 * `FlowWatch` lists what is missed. Never judge what the eBPF instrument captures or costs by this stand-in.
 *
 * Environment, as for the real instrument: OTEL_EBPF_CONFIG_PATH, OTEL_EBPF_ENFORCE_SYS_CAPS, NODE_NAME, KUBECONFIG.
 * Variables of the stand-in only:
 * - STANDIN_LISTEN: host:port for the services.
 * - STANDIN_LOOPBACK: the address that replaces 127.0.0.1 in the endpoints of the file.
 * - STANDIN_SOCKET_SUFFIX: appended to the name of the health socket.
 * - STANDIN_MISSING_CAPS: capabilities that count as missing, comma-separated.
 * - STANDIN_FAULTS: `no-kprobes`, `no-metadata`; see `faults` of the reporter.
 * - STANDIN_HEALTH_MS: delay from reading the file to the first health answer and the first data. Default 0; the real
 *   instrument takes 2 to 35 s.
 * - STANDIN_NETWORKS: with `pods`, flows are read in the network namespaces of all processes, because the real
 *   instrument sees the interfaces of all pods. Needs root.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { Agent as HttpAgent, createServer, request as httpRequest, type Server } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { promisify } from 'node:util';
import { createHttpReceiver } from '../../agent/otlp/http-receiver.ts';
import { silentLogger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { readInstrumentConfig, StartError } from './config.ts';
import { FlowWatch, parseSockets, type FlowEnd } from './flow-watch.ts';
import { PodDirectory } from './pod-directory.ts';
import { faults, Reporter } from './reporter.ts';

const { env } = process;

function log(level: 'INFO' | 'WARN' | 'ERROR', msg: string, fields: Record<string, string> = {}): void {
  const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  console.log(`time=${new Date().toISOString()} level=${level} msg=${JSON.stringify(msg)}${rest.join('')}`);
}

/** Repeats `work`, with a pause of `ms` after each run. */
function every(ms: number, work: () => Promise<void>): void {
  setTimeout(() => void work().finally(() => every(ms, work)), ms);
}

function listening(server: Server, at: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, resolve);
  });
}

/** The health endpoint. The uptime counts from this call, not from the start of the process. */
function healthServer(): Server {
  const started = process.hrtime.bigint();
  return createServer((req, res) => {
    if (req.url !== '/healthz') return res.writeHead(404).end();
    const body = JSON.stringify({
      schema_version: 1,
      now_unix_ns: Math.round(Date.now() * 1e6),
      process_uptime_ns: Number(process.hrtime.bigint() - started),
    });
    return res.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
}

const kept = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

/** Posts a body; like the real exporters, logs any failure at level INFO. */
async function post(url: string, body: Uint8Array): Promise<void> {
  try {
    const status = await send(url, body);
    if (status >= 300) log('INFO', 'failed to upload', { url, status: String(status) });
  } catch (error) {
    log('INFO', 'failed to upload', { url, error: String(error) });
  }
}

/**
 * Sends a POST, and sends it again if the peer closed a kept-alive connection before it answered. Returns the status.
 */
function send(url: string, body: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    const secure = url.startsWith('https:');
    const headers = { 'content-type': 'application/x-protobuf', 'content-length': body.length };
    const agent = secure ? kept.https : kept.http;
    const options = { method: 'POST', headers, agent, signal: AbortSignal.timeout(5_000) };
    const request = (secure ? httpsRequest : httpRequest)(url, options, (answer) => {
      answer.resume();
      answer.once('error', reject);
      answer.once('end', () => resolve(answer.statusCode ?? 0));
    });
    request.once('error', (error: NodeJS.ErrnoException) => {
      if (request.reusedSocket && error.code === 'ECONNRESET') resolve(send(url, body));
      else reject(error);
    });
    request.end(body);
  });
}

/** A client for the cluster of the environment. Without a cluster no pod is known, so no application data is sent. */
async function cluster(): Promise<Pick<KubeClient, 'list'>> {
  try {
    // Loaded late, so that a refused file ends the process without the wait for this module.
    const { createKubeClient } = await import('../../kube/rest-client.ts');
    return createKubeClient({ userAgent: 'instrument-stand-in' });
  } catch (error) {
    log('WARN', 'no Kubernetes metadata', { error: (error as Error).message });
    return { list: () => Promise.reject(error as Error) };
  }
}

/** The TCP sockets of this machine, without those on loopback, like the real instrument. Empty if `ss` is missing. */
async function sockets(): Promise<ReturnType<typeof parseSockets>> {
  const look = ['ss', '-tinpHO', 'not', 'src', '127.0.0.1'];
  const options = { maxBuffer: 64 * 1024 * 1024, timeout: 20_000 };
  try {
    const own = env['STANDIN_NETWORKS'] !== 'pods';
    const commands = own ? [look] : (await networks()).map((pid) => ['nsenter', '-t', String(pid), '-n', ...look]);
    const pages = await Promise.all(commands.map(([file = '', ...args]) => promisify(execFile)(file, args, options)));
    return pages.flatMap(({ stdout }) => parseSockets(stdout));
  } catch (error) {
    log('WARN', 'no flows', { error: (error as Error).message.split('\n')[0] ?? '' });
    return [];
  }
}

/** One process of each network namespace of this machine. */
async function networks(): Promise<number[]> {
  const found = new Map<string, number>();
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const network = await readlink(`/proc/${pid}/ns/net`).catch(() => '');
    if (network !== '' && !found.has(network)) found.set(network, Number(pid));
  }
  return [...found.values()];
}

/** The pod of a process. The variable `HOSTNAME` of a container is the name of its pod. */
async function podOfProcess(pid: number, pods: PodDirectory): Promise<FlowEnd | null> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  const pod = /(?:^|\0)HOSTNAME=([^\0]+)/.exec(environment)?.[1];
  const facts = pod === undefined ? null : await pods.find('', pod);
  if (!facts) return null;
  const [kind, name] = Object.entries(facts.owners).at(-1) ?? ['', pod!];
  const ownerType = ownerTypes[kind] ?? 'Pod';
  return { namespace: facts.namespace, pod: pod!, node: facts.node, ownerName: name, ownerType };
}

const ownerTypes: Readonly<Record<string, string>> = {
  k8s_deployment_name: 'Deployment',
  k8s_replicaset_name: 'ReplicaSet',
  k8s_statefulset_name: 'StatefulSet',
  k8s_daemonset_name: 'DaemonSet',
  k8s_job_name: 'Job',
  k8s_cronjob_name: 'CronJob',
};

async function main(): Promise<void> {
  log('INFO', 'OpenTelemetry eBPF Instrumentation stand-in', { note: 'captures nothing by itself' });
  const path = process.argv.find((a) => a.startsWith('-config='))?.slice('-config='.length);
  const config = readInstrumentConfig(path ?? env['OTEL_EBPF_CONFIG_PATH'], env);
  const missing = env['STANDIN_MISSING_CAPS'];
  if (missing) {
    const required = `the following capabilities are required: ${missing.split(',').join(', ')}`;
    if (config.enforceSysCaps) throw new StartError(`can't start OpenTelemetry eBPF Instrumentation: ${required}`);
    log('WARN', required);
  }
  const loopback = env['STANDIN_LOOPBACK'] ?? '127.0.0.1';
  const local = (endpoint: string | null): string | null => endpoint?.replace('//127.0.0.1', `//${loopback}`) ?? null;
  const given = new Set((env['STANDIN_FAULTS'] ?? '').split(',').filter(Boolean));
  for (const fault of given)
    if (!faults.includes(fault)) fail(`STANDIN_FAULTS: ${fault} is none of ${faults.join(' ')}`);
  if (given.has('no-kprobes')) log('ERROR', 'process watcher stopped', { error: 'kprobe not supported' });
  const pods = new PodDirectory(await cluster(), Date.now);
  const node = env['NODE_NAME'] ?? '';
  const endOf = (pid: number): Promise<FlowEnd | null> => podOfProcess(pid, pods);
  const flows = config.flows && new FlowWatch({ node, include: config.flows, endOf });
  const reporter = new Reporter({
    config: { ...config, metricsEndpoint: local(config.metricsEndpoint), tracesEndpoint: local(config.tracesEndpoint) },
    pods,
    node,
    ...(flows ? { flows } : {}),
    now: Date.now,
    post,
    faults: given,
  });
  for (const endpoint of [config.metricsEndpoint, config.tracesEndpoint]) {
    if (endpoint === null || /^https?:\/\//.test(endpoint)) continue;
    setTimeout(() => fail(`wrong endpoint ${JSON.stringify(endpoint)}: it must have a scheme`), 2_000);
  }
  await new Promise((resolve) => setTimeout(resolve, Number(env['STANDIN_HEALTH_MS'] ?? 0)));
  if (config.healthSocket) {
    const suffix = env['STANDIN_SOCKET_SUFFIX'] ?? '';
    const name = config.healthSocket;
    // A name that already has the suffix is used unchanged.
    const own = suffix && !name.endsWith(suffix) ? name + suffix : name;
    await listening(healthServer(), { path: own.startsWith('@') ? `\0${own.slice(1)}` : own });
  }
  const listen = env['STANDIN_LISTEN'];
  if (listen) {
    const colon = listen.lastIndexOf(':');
    const at = { host: listen.slice(0, colon), port: Number(listen.slice(colon + 1)) };
    await listening(createHttpReceiver({ consumer: reporter, logger: silentLogger }), at);
  }
  if (flows) every(1_000, async () => flows.look(await sockets(), Date.now() * 1e6));
  every(config.metricsIntervalMs, () => reporter.exportMetrics());
  every(config.tracesBatchMs, () => reporter.exportTraces());
  log('INFO', 'instrumentation running', { entries: String(config.include.length) });
}

function fail(message: string): never {
  log('ERROR', message);
  return end(255);
}

function end(code: number): never {
  // eslint-disable-next-line no-restricted-syntax -- this file is an entry point
  process.exit(code);
}

process.on('SIGUSR1', () => {});
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

function stop(): void {
  log('INFO', 'stopping');
  end(0);
}

main().catch((error: unknown) => {
  fail(error instanceof StartError ? error.message : String((error as Error).stack));
});
