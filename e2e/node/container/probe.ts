import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { spawnBound, signalGroup } from '../../cluster/processes.ts';
import type { ProcessSpec } from './process.ts';
import type { Container, Probe } from '../types.ts';

/** The container that is probed, and how to reach it. */
export interface ProbeTarget {
  podIP: string;
  container: Container;
  /** Rewrites a host in the same way as the container's arguments are rewritten. */
  rewrite: (text: string) => string;
  /** How to run a command inside the container. */
  command: (argv: readonly string[]) => ProcessSpec;
}

/** Undefined on success, else why the attempt failed. */
export type ProbeResult = string | undefined;

/** One attempt of a probe, within its timeout. Any status of 200 to 399 is a success. */
export async function attempt(probe: Probe, target: ProbeTarget): Promise<ProbeResult> {
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  try {
    if (probe.httpGet) return await httpProbe(probe.httpGet, target, timeoutMs);
    if (probe.tcpSocket) return await tcpProbe(probe.tcpSocket, target, timeoutMs);
    if (probe.exec) return await execProbe(probe.exec.command ?? [], target, timeoutMs);
    return 'a process node has no such probe';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A port by number, or by its name in the container's ports. */
export function portNumber(container: Container, port: number | string): number {
  if (typeof port === 'number') return port;
  const named = container.ports?.find((p) => p.name === port)?.containerPort;
  const number = named ?? Number(port);
  if (!Number.isInteger(number)) throw new Error(`the container has no port named "${port}"`);
  return number;
}

function httpProbe(get: NonNullable<Probe['httpGet']>, target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  const secure = get.scheme === 'HTTPS';
  const headers: Record<string, string> = { 'user-agent': 'kube-probe/process-node', connection: 'close' };
  for (const { name, value } of get.httpHeaders ?? []) headers[name.toLowerCase()] = value;
  const options = {
    host: get.host ? target.rewrite(get.host) : target.podIP,
    port: portNumber(target.container, get.port),
    path: get.path ?? '/',
    headers,
    agent: false as const,
    signal: AbortSignal.timeout(timeoutMs),
    rejectUnauthorized: false,
  };
  return new Promise((resolve) => {
    const req = (secure ? httpsRequest : httpRequest)(options, (response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      resolve(status >= 200 && status < 400 ? undefined : `HTTP probe failed with statuscode: ${status}`);
    });
    req.once('error', (error) => {
      resolve(options.signal.aborted ? `no answer within ${timeoutMs} ms` : error.message);
    });
    req.end();
  });
}

function tcpProbe(tcp: NonNullable<Probe['tcpSocket']>, target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  const host = tcp.host ? target.rewrite(tcp.host) : target.podIP;
  const port = portNumber(target.container, tcp.port);
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const done = (result: ProbeResult): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => done(undefined));
    socket.once('timeout', () => done(`dial tcp ${host}:${port}: no answer within ${timeoutMs} ms`));
    socket.once('error', (error) => done(error.message));
  });
}

function execProbe(argv: readonly string[], target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  const spec = target.command(argv);
  const child = spawnBound(spec.argv, { ...spec, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const collect = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(0, 1000));
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
      resolve(`command timed out after ${timeoutMs} ms`);
    }, timeoutMs);
    const done = (result: ProbeResult): void => {
      clearTimeout(timer);
      resolve(result);
    };
    child.once('error', (error) => done(error.message));
    child.once('exit', (code) => done(code === 0 ? undefined : `exit code ${code ?? 'by signal'}: ${output.trim()}`));
  });
}
