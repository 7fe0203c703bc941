/** One real node, in namespaces of its own: container runtime, kubelet, kube-proxy, name server and policy engine. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createComponent, type Component } from '../cluster/component.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { until } from '../../src/testing/until.ts';
import { writeKubeconfig } from '../cluster/kubeconfig.ts';
import { issueLeaf } from '../cluster/pki.ts';
import { pauseImage, type ImageFile } from './images.ts';
import { cniPlugins } from './needs.ts';
import type { Programs } from './programs.ts';
import { bridge, dnsAddress, nodeAddress, podRange, withholdsResources } from './surroundings.ts';

export const nodeName = 'node-1';

export interface Node {
  readonly containerd: Component;
  readonly kubelet: Component;
  readonly kubeProxy: Component;
  readonly policyEngine: Component;
  /**
   * Null unless this machine withholds a capability. `forbid` makes the runtime refuse containers that request the
   * capability; `allow` makes the runtime start them without it.
   */
  readonly refusal: { allow(): void; forbid(): void } | null;
}

export interface NodeOptions {
  readonly dir: string;
  readonly plane: ControlPlane;
  readonly programs: Programs;
  readonly images: readonly ImageFile[];
  /** Names outside the cluster, all at the node's address. */
  readonly outsideNames: readonly string[];
  readonly log: (line: string) => void;
}

/** Starts the programs of the node, loads the images and waits until the node is Ready. */
export async function startNode(options: NodeOptions): Promise<Node> {
  const { dir, plane, programs, log } = options;
  const write = (name: string, text: string, mode = 0o600): string => {
    const path = join(dir, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text, { mode });
    return path;
  };
  const component = (name: string, command: readonly string[]): Component =>
    createComponent({ name, run: 'node', command, logFile: join(dir, `${name}.log`) });
  const refusal = withholdsResources(readFileSync('/proc/self/status', 'utf8')) ? runtimeWrapper(write, dir) : null;
  const socket = '/run/containerd/containerd.sock';
  write('cni/10-svc.conflist', JSON.stringify(network));
  const containerd = component('containerd', [
    'containerd',
    '--config',
    write('containerd.toml', containerdConfig(dir, refusal?.program)),
  ]);
  containerd.start();
  await until('containerd answers', async () => ctr(['version']), { timeoutMs: 60_000 });
  log('containerd answers; loading images');
  for (const { path } of options.images) ctr(['-n', 'k8s.io', 'images', 'import', path]);

  const kubeconfig = async (name: string, user: string, groups: readonly string[]): Promise<string> => {
    const path = join(dir, `${name}.kubeconfig`);
    writeKubeconfig(path, { server: plane.server, ca: plane.ca.cert, user: await plane.credentials(user, groups) });
    return path;
  };
  const serving = await issueLeaf(plane.ca, { commonName: `system:node:${nodeName}`, names: [nodeName, nodeAddress] });
  const kubelet = component('kubelet', [
    programs.node.kubelet,
    `--kubeconfig=${await kubeconfig('kubelet', `system:node:${nodeName}`, ['system:nodes'])}`,
    `--config=${write('kubelet.yaml', JSON.stringify(kubeletConfig(write, plane.ca.cert, serving, socket)))}`,
    `--root-dir=${join(dir, 'kubelet')}`,
    `--node-ip=${nodeAddress}`,
    `--hostname-override=${nodeName}`,
    '--v=2',
  ]);
  const kubeProxy = component('kube-proxy', [
    programs.node['kube-proxy'],
    `--config=${write('kube-proxy.yaml', JSON.stringify(proxyConfig(await kubeconfig('proxy', 'system:kube-proxy', []))))}`,
    `--hostname-override=${nodeName}`,
  ]);
  const dns = component('coredns', [
    programs.coredns,
    '-conf',
    write('Corefile', corefile(await kubeconfig('dns', 'system:coredns', ['system:masters']), options.outsideNames)),
  ]);
  const policyEngine = component('kube-router', [
    programs.kubeRouter,
    '--run-router=false',
    '--run-service-proxy=false',
    '--run-firewall=true',
    `--kubeconfig=${await kubeconfig('policies', 'system:kube-router', ['system:masters'])}`,
    `--hostname-override=${nodeName}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--iptables-sync-period=1m',
    '--health-port=0',
  ]);
  for (const each of [kubelet, kubeProxy, dns]) each.start();
  const parts = [containerd, kubelet, kubeProxy, dns];
  const node = `/api/v1/nodes/${nodeName}`;
  const ended = await until(
    'the node is Ready',
    async () => {
      const dead = parts.filter((part) => !part.running);
      if (dead.length > 0) return dead;
      const { status } = await plane.api.request<NodeObject>('GET', node);
      return status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ? [] : undefined;
    },
    { timeoutMs: 120_000 },
  );
  for (const part of ended) throw new Error(`${part.name} ended:\n${part.logTail()}`);
  await plane.api.request(
    'PATCH',
    node,
    { spec: { podCIDR: podRange, podCIDRs: [podRange] } },
    {
      contentType: 'application/merge-patch+json',
    },
  );
  policyEngine.start();
  return { containerd, kubelet, kubeProxy, policyEngine, refusal };
}

interface NodeObject {
  status: { conditions?: { type: string; status: string }[] };
}

export function ctr(args: readonly string[]): string {
  return execFileSync('ctr', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

type Write = (name: string, text: string, mode?: number) => string;

const network = {
  cniVersion: '0.4.0',
  name: 'svc',
  plugins: [
    {
      type: 'bridge',
      bridge,
      isGateway: true,
      hairpinMode: true,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: podRange, rangeStart: nodeAddress.replace(/\d+$/, '10'), gateway: nodeAddress }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

function containerdConfig(dir: string, wrapper: string | undefined): string {
  const runc = "plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc".replaceAll("'", '"');
  return `version = 2
root = "${dir}/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cniPlugins}"
    conf_dir = "${dir}/cni"
  [${runc}]
    runtime_type = "io.containerd.runc.v2"
    [${runc}.options]
      ${wrapper === undefined ? '' : `BinaryName = "${wrapper}"`}
`;
}

/**
 * A runc that leaves out the capability which this machine withholds, so that the instrument's container can start.
 * After `forbid` it runs the unchanged runc, which refuses that container.
 */
function runtimeWrapper(write: Write, dir: string): { program: string; allow(): void; forbid(): void } {
  const flag = join(dir, 'runc-as-it-is');
  const program = write(
    'runc',
    `#!/bin/sh
if [ ! -e ${flag} ]; then
  previous=
  for argument in "$@"; do
    case $previous in --bundle|-b) sed -i 's/,"CAP_SYS_RESOURCE"//g; s/"CAP_SYS_RESOURCE",//g' "$argument/config.json";; esac
    previous=$argument
  done
fi
exec runc "$@"
`,
    0o755,
  );
  chmodSync(program, 0o755);
  return {
    program,
    allow: () => rmSync(flag, { force: true }),
    forbid: () => writeFileSync(flag, ''),
  };
}

function kubeletConfig(write: Write, ca: string, serving: { cert: string; key: string }, socket: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true, cacheTTL: '10s' },
      x509: { clientCAFile: write('kubelet-ca.crt', ca) },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: write('kubelet.crt', serving.cert),
    tlsPrivateKeyFile: write('kubelet.key', serving.key),
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupDriver: 'cgroupfs',
    failCgroupV1: false,
    failSwapOn: false,
    evictionHard: {},
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    clusterDNS: [dnsAddress],
    clusterDomain: 'cluster.local',
    resolvConf: write('resolv.conf', 'nameserver 127.0.0.1\n', 0o644),
    nodeStatusUpdateFrequency: '2s',
    imageGCHighThresholdPercent: 100,
    serializeImagePulls: false,
    shutdownGracePeriod: '0s',
  };
}

function proxyConfig(kubeconfig: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig },
    clusterCIDR: '10.244.0.0/16',
    conntrack: { maxPerCore: 0, min: 0 },
    nftables: { minSyncPeriod: '1s', syncPeriod: '30s' },
    healthzBindAddress: '127.0.0.1:10256',
    metricsBindAddress: '127.0.0.1:10249',
  };
}

function corefile(kubeconfig: string, outside: readonly string[]): string {
  return `.:53 {
  bind ${dnsAddress}
  errors
  hosts {
    ${nodeAddress} ${['node.invalid', ...outside].join(' ')}
    fallthrough
  }
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${kubeconfig}
    ttl 5
  }
}
`;
}
