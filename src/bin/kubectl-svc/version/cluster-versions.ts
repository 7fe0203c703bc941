import type { KubeObject } from '../../../api/meta.ts';
import { coreResources } from '../../../api/core-resources.ts';
import { selectorText } from '../../../render/names.ts';
import { askApi, askVector } from '../connect/prometheus.ts';
import type { Session } from '../session.ts';

/** One version that runs in the cluster. */
export interface PartVersion {
  readonly part: string;
  readonly version: string;
  /** How many instances, and where. */
  readonly where: string;
}

/**
 * The versions in the cluster: the operator's from the images of its pods, the query server's from its build info, the
 * agents' from their metrics. `faults` has the errors of the parts that could not be queried; the other parts are
 * returned all the same.
 */
export async function clusterVersions(session: Session): Promise<{ parts: PartVersion[]; faults: unknown[] }> {
  const asked = await Promise.allSettled([operator(session), query(session), agents(session)]);
  const faults = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  return {
    parts: asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])),
    // Two queries to the same server fail in the same way: one of the errors is enough.
    faults: faults.filter((fault, i) => faults.findIndex((other) => String(other) === String(fault)) === i),
  };
}

interface PodSpec {
  containers: { name: string; image: string }[];
}

async function operator(session: Session): Promise<PartVersion[]> {
  const namespace = session.flags.operatorNamespace;
  const client = await session.kube();
  const options = { namespace, labelSelector: selectorText('controller'), limit: 100, signal: session.signal };
  const { items } = await client.list<KubeObject>(coreResources.pods, options);
  const images = items.map((pod) => (pod['spec'] as PodSpec).containers[0]?.image ?? '');
  const versions = [...Map.groupBy(images.map(versionOfImage), (version) => version)].sort();
  return versions.map(([version, { length: count }]) => ({
    part: 'operator',
    version,
    where: `${count} ${count === 1 ? 'pod' : 'pods'} in ${namespace}`,
  }));
}

async function query(session: Session): Promise<PartVersion[]> {
  const server = await session.connect();
  const options = { method: 'GET', signal: session.signal } as const;
  const { data } = await askApi<{ applicationVersion?: string }>(server, '/api/v1/status/buildinfo', {}, options);
  return [{ part: 'query', version: data.applicationVersion ?? 'unknown', where: server.target }];
}

async function agents(session: Session): Promise<PartVersion[]> {
  const query = 'count by (version) (svc_agent_up)';
  const { data, missingNodes } = await askVector(await session.connect(), query, session.signal);
  const parts = data.result.map(({ metric, value }) => ({
    part: 'agents',
    version: metric['version'] ?? 'unknown',
    where: nodes(Number(value?.[1])),
  }));
  if (missingNodes.length === 0) return parts;
  return [
    ...parts,
    { part: 'agents', version: 'unknown', where: `${nodes(missingNodes.length)}: ${missingNodes.join(', ')}` },
  ];
}

const nodes = (count: number): string => `${count} ${count === 1 ? 'node' : 'nodes'}`;

/** The tag of an image; the image itself when it has only a digest. Pure. */
export function versionOfImage(image: string): string {
  return /:([\w][\w.-]{0,127})(@|$)/.exec(image.slice(image.lastIndexOf('/') + 1))?.[1] ?? image;
}
