import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { intoPodGroup } from '../capture/pod-group.ts';
import { toolEnvironment } from '../cluster/processes.ts';

/** A pod: a network namespace with a veth pair to this machine. */
export interface PodEnd {
  readonly name: string;
  readonly ip: string;
  readonly namespace: string;
  /** This machine's end of the pair. */
  readonly device: string;
  readonly gateway: string;
}

const tag = process.pid % 10_000;
/** The third byte of the first pod's subnet. Each pod has a subnet of its own, and there is room for ten. */
const subnet = (process.pid % 25) * 10;

function end(name: string, i: number): PodEnd {
  const net = `10.213.${subnet + i}`;
  return {
    name,
    ip: `${net}.2`,
    namespace: `svc-e2e-${tag}-${name}`,
    device: `svc${tag}p${i}`,
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

export interface PodProcess {
  /** The uid of the pod: puts the process into the pod's control group, if one can be made. */
  uid?: string;
  /** More variables. */
  env?: Readonly<Record<string, string>>;
  /** Default: nothing to read. */
  stdin?: 'ignore' | 'pipe';
}

/**
 * A network namespace for each pod, with a veth pair to this machine, which forwards packets between them as a node
 * does between its pods.
 */
export class PodNetwork {
  readonly #ends: ReadonlyMap<string, PodEnd>;
  readonly #children: ChildProcess[] = [];
  readonly #cleanUp: (() => void)[] = [];

  private constructor(names: readonly string[]) {
    this.#ends = new Map(names.map((name, i) => [name, end(name, i)]));
  }

  static create(names: readonly string[]): PodNetwork {
    const network = new PodNetwork(names);
    try {
      for (const { namespace, device, ip: address, gateway } of network.#ends.values()) {
        ip('netns', 'add', namespace);
        ip('link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
        ip('addr', 'add', `${gateway}/24`, 'dev', device);
        ip('link', 'set', device, 'up');
        ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
        ip('-n', namespace, 'link', 'set', 'eth0', 'up');
        ip('-n', namespace, 'link', 'set', 'lo', 'up');
        ip('-n', namespace, 'route', 'add', 'default', 'via', gateway);
        // Turns on forwarding for this device alone: the machine's own setting stays.
        writeFileSync(`/proc/sys/net/ipv4/conf/${device}/forwarding`, '1');
      }
      return network;
    } catch (error) {
      network.#takeDown();
      throw error;
    }
  }

  pod(name: string): PodEnd {
    const found = this.#ends.get(name);
    if (!found) throw new Error(`no pod ${name}`);
    return found;
  }

  /** Runs a program inside a pod. */
  run(pod: PodEnd, command: readonly string[], { uid, env = {}, stdin = 'ignore' }: PodProcess = {}): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', pod.namespace, ...command], {
      env: toolEnvironment(env),
      stdio: [stdin, 'pipe', 'inherit'],
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
    for (const { namespace, device } of this.#ends.values()) {
      spawnSync('ip', ['link', 'del', device]);
      spawnSync('ip', ['netns', 'del', namespace]);
    }
  }
}
