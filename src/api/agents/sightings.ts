import { sha256Hex } from '../../base/canonical-json.ts';
import type { ExpectedAgent, NodeView } from './expected-agents.ts';

/** What distinguishes one machine from another of the same name. */
export interface Machine {
  /** Name of the node. */
  readonly node: string;
  /** Uid of the Node object. */
  readonly uid: string;
  /** 16 hex digits for the machine and the system installed on it; undefined where the kubelet does not say. */
  readonly machine?: string | undefined;
}

/** A node that should have an agent, as it is seen now. */
export interface Sighting extends Machine {
  /** When its Node object was created: no agent there has older data. Units: ms. */
  readonly createdMs: number;
  /** Its agent has an address. */
  readonly isServing: boolean;
}

/**
 * The sightings of the nodes that are expected to answer. A node whose Node object is gone while its pod lingers has a
 * name but no uid. Pure.
 */
export function sightingsOf(agents: readonly ExpectedAgent[], nodes: readonly NodeView[]): Sighting[] {
  const byName = new Map(nodes.map((node) => [node.metadata.name ?? '', node]));
  return agents.map(({ node: name, address }) => {
    const { metadata, status } = byName.get(name) ?? {};
    const { machineID, systemUUID } = status?.nodeInfo ?? {};
    const machine = machineID && systemUUID ? sha256Hex(`${systemUUID}/${machineID}`).slice(0, 16) : undefined;
    const createdMs = Date.parse(metadata?.creationTimestamp ?? '') || 0;
    return { node: name, uid: metadata?.uid ?? '', machine, createdMs, isServing: address !== undefined };
  });
}

/**
 * Whether two sightings are of the same machine with the same disk. A machine may register a new Node object after a
 * deletion, and a reinstalled machine may take over the old object. The machine's identity decides if both have one,
 * else the object's uid. Pure.
 */
export function isSameMachine(a: Machine, b: Machine): boolean {
  if (a.node !== b.node) return false;
  return a.machine !== undefined && b.machine !== undefined ? a.machine === b.machine : a.uid === b.uid;
}
