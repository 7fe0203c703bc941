import type { Api } from '../cluster/api.ts';
import { ApiError, mergePatch, strategicPatch } from '../cluster/api.ts';

export interface NodeObjectOptions {
  name: string;
  ip: string;
  kubeletPort: number;
  version: string;
  labels?: Readonly<Record<string, string>>;
}

const capacity = { cpu: '8', memory: '16Gi', pods: '110', 'ephemeral-storage': '100Gi' };
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/** Creates the Node, or takes over the Node of an earlier process, and writes its status. */
export async function registerNode(api: Api, options: NodeObjectOptions): Promise<void> {
  const labels = {
    'kubernetes.io/hostname': options.name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch,
    ...options.labels,
  };
  try {
    await api.request('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: options.name, labels },
      status: nodeStatus(options),
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
  }
  await writeNodeStatus(api, options);
}

/** Writes the node's conditions, addresses and capacity. */
export async function writeNodeStatus(api: Api, options: NodeObjectOptions): Promise<void> {
  await api.request(
    'PATCH',
    `/api/v1/nodes/${options.name}/status`,
    { status: nodeStatus(options) },
    {
      contentType: strategicPatch,
    },
  );
}

/** One heartbeat: renews the node's lease, creating it the first time. */
export async function renewLease(api: Api, name: string): Promise<void> {
  const spec = {
    holderIdentity: name,
    leaseDurationSeconds: 40,
    renewTime: new Date().toISOString().replace('Z', '000Z'),
  };
  try {
    await api.request('PATCH', `${leases}/${name}`, { spec }, { contentType: mergePatch, timeoutMs: 3000 });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    await api.request('POST', leases, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: 'kube-node-lease' },
      spec,
    });
  }
}

function nodeStatus(options: NodeObjectOptions): object {
  const now = new Date().toISOString();
  const condition = (type: string, status: string, reason: string, message: string): object => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  return {
    addresses: [
      { type: 'InternalIP', address: options.ip },
      { type: 'Hostname', address: options.name },
    ],
    capacity,
    allocatable: capacity,
    daemonEndpoints: { kubeletEndpoint: { Port: options.kubeletPort } },
    conditions: [
      condition(
        'MemoryPressure',
        'False',
        'KubeletHasSufficientMemory',
        'process node has sufficient memory available',
      ),
      condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'process node has no disk pressure'),
      condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'process node has sufficient PID available'),
      condition('Ready', 'True', 'KubeletReady', 'process node is posting ready status'),
    ],
    nodeInfo: {
      machineID: options.name,
      systemUUID: options.name,
      bootID: options.name,
      kernelVersion: process.release.name,
      osImage: 'process node',
      containerRuntimeVersion: 'process://1.0.0',
      kubeletVersion: options.version,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    },
  };
}
