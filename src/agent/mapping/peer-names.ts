import { isIP } from 'node:net';
import { changeCount } from '../../base/collections/counts.ts';
import type { PodIdentity } from '../identity/pod-identity.ts';
import type { PodIndex } from '../identity/pod-index.ts';
import { overflowValue } from './series-limits.ts';
import type { Stream } from './stream.ts';

/** Metrics of a client: their `server.address` is another machine's, not the sender's. */
const clientMetrics = ['http.client.', 'rpc.client.', 'db.', 'messaging.'];

/**
 * Number of peer names that one sender's clients may have at a time; a proxy or a crawler talks to any number of
 * servers.
 */
export const maxPeersPerSender = 100;

/**
 * The servers that clients talk to, as the label `server_address` names them: the workload when the address belongs to
 * a pod of this node, else the instrument's name. As in the instrument's names, a workload of another namespace than
 * the sender's is followed by its namespace. Beyond `maxPeersPerSender` names of one sender all others share one name.
 * A name is freed when the last of its streams is removed.
 */
export class PeerNames {
  readonly #pods: PodIndex;
  /** Sender → name of a peer → the number of streams that have this name. */
  readonly #senders = new Map<string, Map<string, number>>();

  constructor(pods: PodIndex) {
    this.#pods = pods;
  }

  /** The name of the stream's peer; `''` for a stream that has none. */
  of(stream: Stream, address: string): string {
    this.release(stream);
    if (address === '' || !clientMetrics.some((prefix) => stream.otlpName.startsWith(prefix))) return '';
    const pod = isIP(address) === 0 ? undefined : this.#pods.withIp(address);
    const sender = stream.sender?.pod;
    const name = pod ? workloadName(pod, sender?.namespace) : address;
    const key = sender ? `${sender.namespace}/${sender.name}` : '';
    let names = this.#senders.get(key);
    if (!names) this.#senders.set(key, (names = new Map()));
    if (!names.has(name) && names.size >= maxPeersPerSender) return overflowValue;
    changeCount(names, name, 1);
    stream.peer = { sender: key, name };
    return name;
  }

  /** Frees the name of a stream that is removed, or about to be named again. */
  release(stream: Stream): void {
    if (!stream.peer) return;
    const { sender, name } = stream.peer;
    stream.peer = null;
    const names = this.#senders.get(sender)!;
    changeCount(names, name, -1);
    if (names.size === 0) this.#senders.delete(sender);
  }
}

function workloadName(pod: PodIdentity, senderNamespace: string | undefined): string {
  const name = pod.attributes['k8s.owner.name'] ?? pod.name;
  return pod.namespace === senderNamespace ? name : `${name}.${pod.namespace}`;
}
