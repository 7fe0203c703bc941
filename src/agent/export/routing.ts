import { namespaceLabel } from '../../api/labels.ts';
import { type Labels, labelValue } from '../../tsdb/index.ts';
import type { SpanRecord } from '../../stream/index.ts';
import { storedFamily } from '../mapping/metric-families.ts';
import { coversSender } from '../mapping/monitor-rules.ts';
import type { Destination, ExportScope } from './destination.ts';

/** True when a series is exported to a destination: it belongs to the destination's pods or namespaces and families. */
export function wantsSeries({ scope, rule }: Pick<Destination, 'scope' | 'rule'>, labels: Labels): boolean {
  if (rule.families) {
    const family = storedFamily(labelValue(labels, '__name__'));
    if (family === null || !rule.families.includes(family)) return false;
  }
  return (
    ends.some(([namespace, pod]) => inScope(scope, labelValue(labels, namespace), labelValue(labels, pod))) &&
    (scope.kind !== 'pods' || isOfSender(scope.sender, labels))
  );
}

/**
 * True for a series of the containers and ports that a monitor selects. A series without a container label counts as
 * selected: a rule of the monitor itself may drop that label.
 */
function isOfSender({ containers, ports }: SenderScope, labels: Labels): boolean {
  const container = labelValue(labels, 'k8s_container_name');
  const serves = /^(?:http|rpc)_server_/.test(labelValue(labels, '__name__'));
  const port = serves ? Number(labelValue(labels, 'server_port')) : 0;
  const asked = { ...(containers && container !== '' ? { containers } : {}), ...(ports ? { ports } : {}) };
  return coversSender(asked, container, port > 0 ? port : null);
}

type SenderScope = Extract<ExportScope, { kind: 'pods' }>['sender'];

/** The labels that name the pods of a series. A series of requests has one pod, a series of flows has two. */
const ends = [
  [namespaceLabel, 'k8s_pod_name'],
  ['k8s_src_namespace', 'k8s_src_name'],
  ['k8s_dst_namespace', 'k8s_dst_name'],
] as const;

/** True when a span belongs to the destination's pods or namespaces and the destination takes spans. */
export function wantsSpan({ scope, rule }: Pick<Destination, 'scope' | 'rule'>, span: SpanRecord): boolean {
  if (rule.spans !== true || !inScope(scope, span.namespace ?? '', span.pod ?? '')) return false;
  const port = span.kind === 'server' ? Number(span.attributes['server.port']) : 0;
  return scope.kind !== 'pods' || coversSender(scope.sender, span.container ?? '', port > 0 ? port : null);
}

function inScope(scope: ExportScope, namespace: string, pod: string): boolean {
  switch (scope.kind) {
    case 'all':
      return true;
    case 'namespaces':
      return scope.namespaces.has(namespace);
    case 'pods':
      return namespace === scope.namespace && scope.pods.has(pod);
  }
}
