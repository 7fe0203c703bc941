import { labelName } from '../mapping/names.ts';
import type { Attribute } from '../otlp/model.ts';
import { isReservedLabel } from './enrich.ts';
import { lastText } from './instance-id.ts';
import type { PodIdentity } from './pod-identity.ts';
import type { PodIndex } from './pod-index.ts';

/** The two ends of a flow, as far as they could be verified. */
export interface EnrichedFlow {
  readonly attributes: readonly Attribute[];
  /** Namespaces of the ends that are pods of this node; the flow counts for them. Empty if no end is such a pod. */
  readonly local: readonly string[];
  /** Whether neither end is a pod of this node, and neither end is a node. */
  readonly unknown: boolean;
  /** Whether an end names another namespace than that of its pod. */
  readonly contradicts: boolean;
}

export const flowSides = ['src', 'dst'] as const;
export type FlowSide = (typeof flowSides)[number];
const noSides: ReadonlySet<FlowSide> = new Set();

/**
 * Verifies the ends of a flow. An end that is a pod of this node, by its address or else by its name, gets the names of
 * that pod. A pod that has left is not the end where the instrument names another node. The far end of such a flow is
 * passed on as the instrument reports it, because this node cannot check it. A flow without an end on this node names
 * no pod, because nothing of it can be checked. An end that is a node keeps its name: a node has no namespace, so its
 * name cannot make the flow count for a wrong namespace.
 * The instrument is always asked for the node of each end of a flow, because without addresses a workload that has pods
 * here and elsewhere can be either. That of a far end is kept only for the sides in `farNodes`. In TCP
 * statistics the instrument sends both addresses by default.
 * Shape: pure.
 */
export function enrichFlow(
  attributes: readonly Attribute[],
  pods: PodIndex,
  farNodes: ReadonlySet<FlowSide> = noSides,
): EnrichedFlow {
  const ends = flowSides.map((side) => endOf(attributes, side, pods, farNodes.has(side)));
  const local = [...new Set(ends.flatMap(({ namespace }) => namespace ?? []))];
  const believed = ends.map((end) => (local.length > 0 || end.isNode ? end.keys : new Map<string, string>()));
  const kept = attributes.filter(({ key }) => !isReservedLabel(labelName(key)) && !endPorts.has(key));
  const added = believed.flatMap((keys) => [...keys].map(([key, value]) => ({ key, value })));
  return {
    attributes: [...kept, ...serverPort(attributes), ...added],
    local,
    unknown: local.length === 0 && !ends.some(({ isNode }) => isNode),
    contradicts: ends.some(({ contradicts }) => contradicts),
  };
}

const endPorts: ReadonlySet<string> = new Set(['src.port', 'dst.port', 'server.port']);
/** The lowest port that Linux picks for a client by default. */
const firstEphemeral = 32_768;

/**
 * The server's port, as the port of the server's side and as `server.port`. The server is the destination of a request
 * and the source of a response. The client's port is dropped: it carries no information and differs with each
 * connection. For a connection that is older than the instrument, the direction is unknown: then the lower port is
 * taken for the server's.
 */
function serverPort(attributes: readonly Attribute[]): Attribute[] {
  const port = (key: string): number => Number(lastText(attributes, key)) || 0;
  const [src, dst] = [port('src.port'), port('dst.port')];
  const direction = lastText(attributes, 'direction');
  const known = direction === 'request' ? 'dst' : direction === 'response' ? 'src' : undefined;
  const guessed = src > 0 && (dst === 0 || src < dst) ? 'src' : 'dst';
  const side = known ?? guessed;
  const own = side === 'src' ? src : dst;
  const value = port('server.port') || own;
  if (value === 0 || (known === undefined && value >= firstEphemeral)) return [];
  const named = known !== undefined || own === value ? [{ key: `${side}.port`, value: String(value) }] : [];
  return [...named, { key: 'server.port', value: String(value) }];
}

interface End {
  /** The namespace of an end that is on this node; undefined for a far end. */
  readonly namespace: string | undefined;
  readonly isNode: boolean;
  readonly contradicts: boolean;
  /** The names of this end, by attribute. */
  readonly keys: ReadonlyMap<string, string>;
}

function endOf(attributes: readonly Attribute[], side: FlowSide, pods: PodIndex, keepsFarNode: boolean): End {
  const prefix = `k8s.${side}.`;
  const keys = new Map<string, string>();
  for (const { key } of attributes) {
    if (!key.startsWith(prefix)) continue;
    const text = lastText(attributes, key);
    if (text !== '') keys.set(key, text);
  }
  const said = (key: string): string => keys.get(prefix + key) ?? '';
  const [namespace, name, owner] = [said('namespace'), said('name'), said('owner.name')];
  const kinds = [said('type'), said('owner.type')];
  const isNode = kinds.includes('Node') && namespace === '';
  const isService = kinds.includes('Service');
  const address = lastText(attributes, `${side}.address`);
  const found = pods.synced
    ? podOf(pods, { address, namespace, name: isService ? '' : name, type: said('type') })
    : undefined;
  const isNamedHere = ['', pods.node].includes(said('node.name'));
  const pod = found && (isNamedHere || !pods.hasLeft(found)) ? found : undefined;
  // An end on this node always carries the node's name, so that a flow that both nodes have seen can be recognised.
  if (pod) {
    const contradicts = namespace !== '' && namespace !== pod.namespace;
    const names = named(keys, prefix, pod).set(`${prefix}node.name`, pods.node);
    return { namespace: pod.namespace, isNode: false, contradicts, keys: names };
  }
  // An instrument that runs an earlier file names no node. None names the node of a Service, which may have the name of
  // a workload.
  const mayBeHere = !isService && address === '' && isNamedHere;
  const here = pods.synced && mayBeHere && namespace !== '' && pods.hasOwner(namespace, owner);
  if (here) keys.set(`${prefix}node.name`, pods.node);
  else if (!keepsFarNode) keys.delete(`${prefix}node.name`);
  return { namespace: here ? namespace : undefined, isNode, contradicts: false, keys };
}

function podOf(
  pods: PodIndex,
  { address, namespace, name, type }: { address: string; namespace: string; name: string; type: string },
): PodIdentity | undefined {
  if (address !== '') return pods.withIp(address);
  return name !== '' && (type === 'Pod' || type === '') ? pods.named(namespace, name) : undefined;
}

/**
 * The attributes of an end, with the names of its pod. The pod's own name is included only where the flow has that
 * attribute.
 */
function named(keys: ReadonlyMap<string, string>, prefix: string, pod: PodIdentity): Map<string, string> {
  return new Map([
    ...keys,
    [`${prefix}namespace`, pod.namespace],
    [`${prefix}owner.name`, pod.attributes['k8s.owner.name'] ?? pod.name],
    [`${prefix}owner.type`, pod.attributes['k8s.kind'] ?? 'Pod'],
    ...(keys.has(`${prefix}name`) ? [[`${prefix}name`, pod.name] as const] : []),
    ...(keys.has(`${prefix}type`) ? [[`${prefix}type`, 'Pod'] as const] : []),
  ]);
}
