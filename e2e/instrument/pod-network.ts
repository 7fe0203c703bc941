import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { intoPodGroup } from '../capture/pod-group.ts';
import { toolEnvironment } from '../cluster/processes.ts';

/** One of the two pods. */
export interface PodEnd {
  readonly name: string;
  readonly ip: string;
  readonly namespace: string;
  /** This machine's end of its cable. */
  readonly device: string;
  readonly gateway: string;
}

const tag = process.pid % 10_000;
const subnet = process.pid % 100;

function end(name: string, i: number): PodEnd {
  const net = `10.213.${subnet * 2 + i}`;
  return {
    name,
    ip: `${net}.2`,
    namespace: `svc-e2e-${tag}-${name}`,
    device: `svc${tag}${name[0]}`,
    gateway: `${net}.1`,
  };
}

/** Why no network of pods can be made here; null where it can. */
export function networkUnavailable(): string | null {
  if (process.platform !== 'linux') return 'network namespaces are a thing of Linux';
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  if (spawnSync('ip', ['-V']).status !== 0) return 'the program ip is missing (package iproute2)';
  const made = spawnSync('ip', ['netns', 'add', `svc-e2e-${tag}`]);
  if (made.status !== 0) return `network namespaces cannot be made here: ${made.stderr.toString().trim()}`;
  ip('netns', 'del', `svc-e2e-${tag}`);
  return null;
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/**
 * A server's and a client's network namespace, each with a cable to this machine, which passes packets between them as
 * a node does between its pods.
 */
export class PodNetwork {
  readonly server = end('web', 0);
  readonly client = end('client', 1);
  readonly #children: ChildProcess[] = [];
  readonly #cleanUp: (() => void)[] = [];

  static create(): PodNetwork {
    const network = new PodNetwork();
    try {
      for (const { namespace, device, ip: address, gateway } of [network.server, network.client]) {
        ip('netns', 'add', namespace);
        ip('link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
        ip('addr', 'add', `${gateway}/24`, 'dev', device);
        ip('link', 'set', device, 'up');
        ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
        ip('-n', namespace, 'link', 'set', 'eth0', 'up');
        ip('-n', namespace, 'link', 'set', 'lo', 'up');
        ip('-n', namespace, 'route', 'add', 'default', 'via', gateway);
        // Of these two devices alone: the machine's own setting stays.
        writeFileSync(`/proc/sys/net/ipv4/conf/${device}/forwarding`, '1');
      }
      return network;
    } catch (error) {
      network.#takeDown();
      throw error;
    }
  }

  /** Runs a Node script inside a pod; with a uid its process is in that pod's control group, where that can be had. */
  run(pod: PodEnd, script: string, uid?: string): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', pod.namespace, process.execPath, '-e', script], {
      env: toolEnvironment({}),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#children.push(child);
    const leave = uid === undefined ? null : intoPodGroup(child.pid!, uid);
    if (leave) this.#cleanUp.push(leave);
    return child;
  }

  async remove(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    }
    for (const leave of this.#cleanUp) leave();
    this.#takeDown();
  }

  #takeDown(): void {
    for (const { namespace, device } of [this.server, this.client]) {
      spawnSync('ip', ['link', 'del', device]);
      spawnSync('ip', ['netns', 'del', namespace]);
    }
  }
}
