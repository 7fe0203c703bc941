import { type Labels, labelValue } from '../../tsdb/index.ts';
import type { SpanRecord } from '../../stream/index.ts';
import type { Destination, ExportScope } from './destination.ts';

const families: readonly (readonly [prefix: string, family: string])[] = [
  ['http_server_', 'HTTPServer'],
  ['http_client_', 'HTTPClient'],
  ['rpc_', 'RPC'],
  ['db_', 'DB'],
  ['messaging_', 'Messaging'],
  ['ebpf_network_', 'NetworkFlow'],
  ['ebpf_stat_tcp_', 'TCPStats'],
];

/** True when a series is of the destination's pods or namespaces, and of its families. */
export function wantsSeries({ scope, rule }: Pick<Destination, 'scope' | 'rule'>, labels: Labels): boolean {
  if (rule.families) {
    const name = labelValue(labels, '__name__');
    const family = families.find(([prefix]) => name.startsWith(prefix))?.[1];
    if (family === undefined || !(rule.families as readonly string[]).includes(family)) return false;
  }
  return ends.some(([namespace, pod]) => inScope(scope, labelValue(labels, namespace), labelValue(labels, pod)));
}

/** A request has one pod; a flow has two, and is of either. */
const ends = [
  ['k8s_namespace_name', 'k8s_pod_name'],
  ['k8s_src_namespace', 'k8s_src_name'],
  ['k8s_dst_namespace', 'k8s_dst_name'],
] as const;

/** True when a span is of the destination's pods or namespaces and it takes spans. */
export function wantsSpan({ scope, rule }: Pick<Destination, 'scope' | 'rule'>, span: SpanRecord): boolean {
  return rule.spans === true && inScope(scope, span.namespace ?? '', span.pod ?? '');
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
