import type { Api } from '../cluster/api.ts';
import type { Pod } from './types.ts';

/** Writes events about pods, best effort. The same text about the same pod is written at most once in ten seconds. */
export function createEventRecorder(
  api: Api,
  nodeName: string,
): (pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string) => void {
  const recent = new Map<string, number>();
  let count = 0;
  return (pod, type, reason, message) => {
    const now = Date.now();
    const key = `${pod.metadata.uid}|${reason}|${message}`;
    if (now - (recent.get(key) ?? 0) < 10_000) return;
    if (recent.size > 1000) recent.clear();
    recent.set(key, now);
    const { namespace, name, uid } = pod.metadata;
    const time = new Date(now).toISOString();
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${now.toString(16)}${(count++).toString(16)}`, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
      type,
      reason,
      message: message.slice(0, 1000),
      source: { component: 'process-node', host: nodeName },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    api.request('POST', `/api/v1/namespaces/${namespace}/events`, event).catch(() => undefined);
  };
}
