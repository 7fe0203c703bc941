import type { X509Certificate } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { Stage } from '../demo/stage.ts';
import { until } from '../../src/testing/until.ts';
import { podsOf, type PodStatus } from './probe.ts';

/** The certificate that a node's agent shows, and the private key on the node's disk. */
export interface AgentIdentity {
  readonly node: string;
  /** DNS names of the certificate that port 9091 shows. */
  readonly names: string;
  readonly serialNumber: string;
  /** The private key on the node's disk, PEM. */
  readonly key: string;
}

const agents = 'app.kubernetes.io/component=agent';

function fileOf(stage: Stage, node: string): string {
  const { hostDir } = stage.cluster.nodes.find(({ name }) => name === node)!;
  return join(hostDir, 'var/lib/svc-agent/certificate.pem');
}

/** All agents' identities, sorted by node. */
export async function agentIdentities(stage: Stage): Promise<AgentIdentity[]> {
  const pods = await podsOf(stage, 'svc-system', agents);
  const found = pods.map(async ({ spec, status }): Promise<AgentIdentity> => {
    const shown = await shownAt(status.podIP);
    const key =
      /-----BEGIN PRIVATE KEY-----[^-]+/.exec(await readFile(fileOf(stage, spec.nodeName), 'utf8'))?.[0] ?? '';
    return { node: spec.nodeName, names: shown.subjectAltName ?? '', serialNumber: shown.serialNumber, key };
  });
  return (await Promise.all(found)).toSorted((a, b) => (a.node < b.node ? -1 : 1));
}

/** The certificate that the agent at an address shows, trusted or not. */
function shownAt(host: string): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: 9091, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()!);
      socket.destroy();
    }).once('error', reject);
  });
}

/**
 * Kills the agent of a node, after deleting its certificate if `loses` says so. Waits until the agent is ready again.
 */
export async function restartAgent(stage: Stage, node: string, loses: 'its certificate' | 'nothing'): Promise<void> {
  const one = async (): Promise<PodStatus> =>
    (await podsOf(stage, 'svc-system', agents)).find(({ spec }) => spec.nodeName === node)!;
  const restarts = ({ status }: PodStatus): number =>
    status.containerStatuses.find(({ name }) => name === 'agent')?.restartCount ?? 0;
  const pod = await one();
  if (loses === 'its certificate') await rm(fileOf(stage, node));
  await stage.cluster.nodes
    .find(({ name }) => name === node)!
    .killContainer(`svc-system/${pod.metadata.name}`, 'agent');
  await until(`the agent of ${node} to be ready again`, one, {
    good: (now) => restarts(now) > restarts(pod) && now.status.containerStatuses.every(({ ready }) => ready),
    timeoutMs: 60_000,
  });
}
