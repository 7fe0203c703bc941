import type { FlowEnd, SpanRecord, StreamMessage } from '../../stream/index.ts';
import { timeOf } from '../../stream/index.ts';
import type { AddressIndex, AddressOwner } from '../addresses/address-index.ts';
import { ownerOfHost } from '../addresses/owner-of-host.ts';

/** Callers whose spans have arrived and whose servers' spans may follow: at least this many of the newest are kept. */
const mostCallers = 10_000;

/**
 * Names the ends of spans and flows that their agents cannot name: an agent knows only the pods of its own node. A
 * caller is found by its address where the policy lets agents keep it, else by its own span of the same request.
 * Guarantees: a name that an agent gave is never replaced. For a peer in a namespace that the reader may not see, only
 * the namespace and the workload are named, neither pod nor node; or the Service is named, when the reader's own pod
 * called the peer by the Service's address.
 */
export class EndNamer {
  readonly #index: AddressIndex;
  readonly #visible: () => ReadonlySet<string> | undefined;
  /**
   * The pod that sent each client's span, by trace and span id. When `#callers` is full, it replaces `#elder` as a
   * whole. Entries are not deleted one by one, because finding the oldest entry of a map steps over every entry that
   * was deleted before it.
   */
  #callers = new Map<string, FlowEnd>();
  #elder: ReadonlyMap<string, FlowEnd> = new Map();

  constructor(index: AddressIndex, visible: () => ReadonlySet<string> | undefined) {
    this.#index = index;
    this.#visible = visible;
  }

  named(message: StreamMessage): StreamMessage {
    const { span, flow } = message;
    if (span) {
      // A peer sent by an agent is ignored: a compromised agent could choose any name for its peers.
      const { peer: _, ...own } = span;
      const peer = this.#peerOf(own);
      return peer || span.peer ? { ...message, span: peer ? { ...own, peer } : own } : message;
    }
    if (!flow) return message;
    const atMs = Date.parse(timeOf({ flow }));
    const [source, destination] = [this.#end(flow.source, atMs), this.#end(flow.destination, atMs)];
    if (source === flow.source && destination === flow.destination) return message;
    return { ...message, flow: { ...flow, source, destination } };
  }

  #peerOf(span: SpanRecord): FlowEnd | undefined {
    const atMs = Date.parse(span.start);
    const text = (key: string): string => {
      const value = span.attributes[key];
      return typeof value === 'string' ? value : '';
    };
    const asks = span.kind === 'client' || span.kind === 'producer';
    if (asks) this.#remember(span);
    else if (span.kind !== 'server' && span.kind !== 'consumer') return undefined;
    const hosts = asks ? ['network.peer.address', 'server.address'] : ['client.address', 'network.peer.address'];
    const context = { namespace: span.namespace ?? '', timeMs: atMs, visible: this.#visible() };
    for (const host of hosts.map(text)) {
      if (host === '') continue;
      const owner = ownerOfHost(this.#index, host, context);
      if (owner.kind !== 'unknown') return this.#endOf(owner, host);
    }
    if (asks) return undefined;
    const key = `${span.traceId} ${span.parentSpanId ?? ''}`;
    const caller = this.#callers.get(key) ?? this.#elder.get(key);
    return caller && this.#allowed(caller);
  }

  #remember({ traceId, spanId, namespace, pod, workload }: SpanRecord): void {
    if (pod === undefined || namespace === undefined) return;
    if (this.#callers.size >= mostCallers) {
      this.#elder = this.#callers;
      this.#callers = new Map();
    }
    const node = this.#index.pod(namespace, pod)?.nodeName;
    const caller = { namespace, name: pod, kind: 'Pod', ...(workload ? { workload } : {}), ...(node ? { node } : {}) };
    this.#callers.set(`${traceId} ${spanId}`, caller);
  }

  #end(end: FlowEnd, atMs: number): FlowEnd {
    if (end.address === undefined || end.name !== undefined || end.workload !== undefined) return end;
    const owner = this.#index.at(end.address, atMs);
    return owner.kind === 'unknown' ? end : { ...this.#endOf(owner, end.address), ...end };
  }

  #endOf(owner: Exclude<AddressOwner, { kind: 'unknown' }>, address: string): FlowEnd {
    switch (owner.kind) {
      case 'pod': {
        const { namespace, name, nodeName: node } = owner.pod;
        const { kind, name: workload } = owner.workload;
        return this.#allowed({ namespace, name, kind: 'Pod', workload: { kind, name: workload }, node, address });
      }
      case 'workload': {
        const { namespace, kind, name } = owner.workload;
        return { namespace, workload: { kind, name }, address };
      }
      case 'service':
        return { namespace: owner.service.namespace, name: owner.service.name, kind: 'Service', address };
      case 'node':
        return { name: owner.name, kind: 'Node', node: owner.name, address };
      case 'external':
        return { address, cidr: owner.name };
    }
  }

  #allowed(end: FlowEnd): FlowEnd {
    const visible = this.#visible();
    if (visible === undefined || visible.has(end.namespace ?? '')) return end;
    const { namespace, workload } = end;
    return { ...(namespace === undefined ? {} : { namespace }), ...(workload ? { workload } : {}) };
  }
}
