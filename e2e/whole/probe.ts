import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { getJson } from '../demo/query-client.ts';
import { readyPods, type Stage } from '../demo/stage.ts';

/** The instrument's current configuration file on each node, by node name; a node without one is left out. */
export async function instrumentFiles(stage: Stage): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const node of stage.cluster.nodes) {
    const dir = join(stage.cluster.dir, 'nodes', node.name);
    for (const entry of await readdir(dir, { recursive: true })) {
      if (!entry.endsWith('config.yaml') || !entry.includes('ebpf-config')) continue;
      files[node.name] = await readFile(join(dir, entry), 'utf8').catch(() => '');
    }
  }
  return files;
}

/** `kind/name` of the objects of all namespaces that match a label selector. */
export async function namesOf(stage: Stage, kind: string, selector: string): Promise<string[]> {
  const text = await stage.cluster.kubectl(['get', kind, '-A', '-l', selector, '-o', 'name']);
  return text.split('\n').filter((line) => line !== '');
}

/** The values of all counters of requests and of their durations at a moment in the past, as `labels → value`. */
export async function countersAt(stage: Stage, seconds: number): Promise<Record<string, string>> {
  const answer = await stage.query('{__name__=~"http_server_request_duration_(count|sum)"}', { time: String(seconds) });
  if (answer.body.degraded !== false) throw new Error(`degraded: ${answer.body.missingNodes?.join()}`);
  return Object.fromEntries(
    (answer.body.data?.result ?? []).map((r) => [JSON.stringify(Object.entries(r.metric).sort()), r.value[1]]),
  );
}

/**
 * Queries a pod of the query server at its own address, where no loopback exemption applies. Returns the HTTP status.
 */
export async function queryAtPod(stage: Stage, token?: string): Promise<number> {
  const [pod] = await readyPods(stage.cluster, 'svc-system', 'app.kubernetes.io/component=query');
  const target = { host: pod!.ip, port: 9095, ca: stage.queryTarget.ca, ...(token ? { token } : {}) };
  return (await getJson(target, '/api/v1/query?query=1')).status;
}

export interface PodStatus {
  metadata: { name: string; uid: string; labels?: Record<string, string> };
  spec: { nodeName: string };
  status: { podIP: string; containerStatuses: { name: string; restartCount: number; ready: boolean }[] };
}

export async function podsOf(stage: Stage, namespace: string, selector: string): Promise<PodStatus[]> {
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`;
  return (await stage.cluster.api.request<{ items: PodStatus[] }>('GET', path)).items;
}
