import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson } from '../../src/base/canonical-json.ts';
import {
  type AgentStatus,
  type CaptureConfig,
  captureHash,
  capturePutPath,
  zeroConfig,
} from '../../src/capture/index.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../src/net/ca.ts';
import { TlsClient } from '../../src/net/tls-client.ts';
import { fixedTls, type TlsMaterial } from '../../src/net/tls-material.ts';
import { agentServerName } from '../../src/api/agents/agent-certificate.ts';
import { agentTls } from '../../src/testing/agent-tls.ts';
import { builtPrograms } from '../cluster/own-programs.ts';
import { compileCacheDir } from '../../src/testing/cache-dir.ts';

/** Makes a CA, and writes a certificate where the agent reads its own. `client` makes clients that the agent trusts. */
export async function makeIdentities(
  dir: string,
): Promise<{ ca: KeyPairPem; client: (name: string) => Promise<TlsClient> }> {
  const ca = await createCa({ commonName: 'svc-ca', now: Date.now() });
  writeIdentity(join(dir, 'tls'), await agentTls(ca, 'node-1'));
  return {
    ca,
    client: async (commonName) => {
      const own = await issueLeaf(ca, { commonName, dnsNames: [commonName] }, { now: Date.now() });
      return new TlsClient(fixedTls({ ...own, ca: ca.cert }));
    },
  };
}

/** Writes the files of an agent's certificate directory. */
export function writeIdentity(dir: string, { cert, key, ca }: TlsMaterial): void {
  mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca })) {
    writeFileSync(join(dir, name), text);
  }
}

/** A real agent in a process of its own, on ports that it chooses. Its log is kept for a failing test. */
export class AgentProcess {
  readonly child: ChildProcess;
  readonly ports: ReadonlyMap<string, number>;
  log = '';

  private constructor(child: ChildProcess, ports: ReadonlyMap<string, number>) {
    this.child = child;
    this.ports = ports;
  }

  static async start(
    dir: string,
    flags: Readonly<Record<string, string>> = {},
    variables: Readonly<Record<string, string>> = {},
    /** Words to put before the command: a program that replaces itself with the agent by exec, as `setpriv` does. */
    wrapper: readonly string[] = [],
    /** The `svc` program to run. Default: the built one. */
    svcProgram: string = builtPrograms.svc,
  ): Promise<AgentProcess> {
    const all = {
      'node-name': 'node-1',
      'data-dir': join(dir, 'data'),
      'instrument-config': join(dir, 'instrument', 'config.yaml'),
      'instrument-health-socket': join(dir, 'none.sock'),
      'bind-address': '127.0.0.1',
      'tls-dir': join(dir, 'tls'),
      'otlp-http-port': '0',
      'otlp-grpc-port': '0',
      'scrape-port': '0',
      'remote-read-port': '0',
      'span-stream-port': '0',
      'capture-config-port': '0',
      ...flags,
    };
    const args = Object.entries(all).map(([name, value]) => `--${name}=${value}`);
    const own = { NODE_COMPILE_CACHE: compileCacheDir, KUBECONFIG: join(dir, 'no-kubeconfig') };
    const env = { ...process.env, ...own, ...variables };
    const [program, ...rest] = [...wrapper, process.execPath, svcProgram, 'agent', ...args];
    const child = spawn(program!, rest, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const ports = new Map<string, number>();
    const agent = new AgentProcess(child, ports);
    await new Promise<void>((resolve, reject) => {
      let rest = '';
      child.once('exit', (code) => reject(new Error(`the agent ended with ${code}: ${agent.log}`)));
      child.stderr!.on('data', (chunk: Buffer) => {
        agent.log += chunk.toString();
        const lines = (rest + chunk.toString()).split('\n');
        rest = lines.pop()!;
        for (const line of lines.filter((l) => l.startsWith('{'))) {
          const entry = JSON.parse(line) as { msg: string; listener?: string; port?: number };
          if (entry.msg === 'listening') ports.set(entry.listener!, entry.port!);
          if (entry.msg === 'agent started') resolve();
        }
      });
    });
    return agent;
  }

  port(listener: 'scrape' | 'otlp-http' | 'span-stream' | 'capture-config' | 'remote-read'): number {
    return this.ports.get(listener)!;
  }

  /** Sends a request to the OTLP receiver as JSON; resolves when it is answered. */
  async otlp(signal: 'metrics' | 'traces', body: object): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${this.port('otlp-http')}/v1/${signal}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.status !== 200) throw new Error(`OTLP ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  }

  async push(client: TlsClient, change: Partial<CaptureConfig>): Promise<void> {
    const seed = zeroConfig({ node: 'node-1', ports: '8080', instrumentVersion: 'v0.10.0' });
    const config = { ...seed, ...change };
    const answer = await this.call(client, 'PUT', capturePutPath(captureHash(config)), canonicalJson(config));
    if (answer.status !== 200) throw new Error(`push ${answer.status}: ${answer.body.toString()}`);
  }

  async status(client: TlsClient): Promise<AgentStatus> {
    return JSON.parse((await this.call(client, 'GET', '/v1/status')).body.toString()) as AgentStatus;
  }

  call(client: TlsClient, method: string, path: string, body?: string): ReturnType<TlsClient['request']> {
    return client.request({
      host: '127.0.0.1',
      port: this.port('capture-config'),
      servername: agentServerName('node-1', 'svc-system'),
      method,
      path,
      ...(body === undefined ? {} : { body }),
      deadlineMs: 10_000,
      maxBytes: 10_000_000,
    });
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill(signal);
    await gone;
  }
}
