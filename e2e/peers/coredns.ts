import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../../src/testing/until.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { findPeer } from './programs.ts';

const run = promisify(execFile);

/** A real CoreDNS over a cluster's API server, and ways to look up names with it. */
export interface NameServer {
  /** Words to put before a command, whose program then sees the resolv.conf of a pod of this namespace. */
  asPodOf(namespace: string): string[];
  /** The IPv4 addresses of a name, sorted, as libc finds them in a pod of svc-system. Errors: the resolver's. */
  lookUp(name: string): Promise<string[]>;
  /** The targets of an SRV record, looked up by DNS at the servers of resolv.conf, without libc. */
  services(name: string): Promise<{ name: string; port: number }[]>;
  close(): Promise<void>;
}

/**
 * Starts CoreDNS, and waits until it has the cluster's objects. `outside` maps names that end in `example` to their
 * addresses; no other name outside of the cluster exists.
 */
export async function startNameServer(
  cluster: Cluster,
  outside: Readonly<Record<string, string>>,
): Promise<NameServer> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-coredns-'));
  // resolv.conf has no ports: each run has an address of its own for port 53.
  const address = `127.53.${(process.pid >> 8) & 255}.${process.pid & 255 || 1}`;
  const kubeconfig = await cluster.kubeconfigFor('system:coredns', ['system:masters']);
  const hosts = Object.entries(outside).map(([name, ip]) => `    ${ip} ${name}\n`);
  writeFileSync(
    join(dir, 'Corefile'),
    `cluster.local in-addr.arpa {
  bind ${address}
  errors
  kubernetes {
    kubeconfig ${kubeconfig}
    ttl 1
  }
}
example {
  bind ${address}
  hosts {
${hosts.join('')}  }
}
. {
  bind ${address}
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`,
  );
  const asPodOf = (namespace: string): string[] => {
    const file = join(dir, `resolv-${namespace}.conf`);
    const search = ['svc.cluster.local', 'cluster.local'];
    writeFileSync(
      file,
      `nameserver ${address}\nsearch ${namespace}.${search[0]} ${search.join(' ')}\noptions ndots:5\n`,
    );
    return ['unshare', '--mount', 'sh', '-c', `mount --bind ${file} /etc/resolv.conf && exec "$@"`, 'sh'];
  };
  const ask = async <T>(call: string, name: string): Promise<T> => {
    const [program, ...args] = asPodOf('svc-system');
    const script = `require('dns').promises.${call}.then((found) => console.log(JSON.stringify(found)))`;
    const { stdout } = await run(program!, [...args, process.execPath, '-e', script, name]);
    return JSON.parse(stdout) as T;
  };
  const lookUp = async (name: string): Promise<string[]> => {
    const found = await ask<{ address: string }[]>('lookup(process.argv[1], { all: true, family: 4 })', name);
    return found.map(({ address: one }) => one).sort();
  };
  const log = openSync(join(dir, 'log'), 'a');
  const child = spawnBound([await findPeer('coredns'), '-conf', join(dir, 'Corefile')], {
    run: `peer-${process.pid}`,
    cwd: dir,
    env: toolEnvironment(),
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  await until('CoreDNS answers', async () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${readFileSync(join(dir, 'log'), 'utf8').slice(-2_000)}`);
    return (await lookUp('kubernetes.default')).length === 1;
  });
  return {
    asPodOf,
    lookUp,
    services: (name) => ask('resolveSrv(process.argv[1])', name),
    async close() {
      signalGroup(child.pid!, 'SIGKILL');
      await exited(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
