import { namespaceLabel, nodeLabel } from '../../api/labels.ts';
import type { TopologyGrouping, TopologyNode } from '../../api/page/types.ts';
import type { AddressIndex, AddressOwner, Workload } from '../addresses/address-index.ts';
import { ownerOfHost } from '../addresses/owner-of-host.ts';

/** One end of an edge, as a topology shows it. */
export type End = Pick<TopologyNode, 'id' | 'kind' | 'namespace' | 'name' | 'workloadKind'>;

export interface EndsOptions {
  readonly index: AddressIndex;
  readonly by: TopologyGrouping;
  /** The time at which the addresses were in use. Units: ms since the epoch. */
  readonly atMs: number;
  /** The namespaces whose pods the caller may see; undefined: all. */
  readonly visible: ReadonlySet<string> | undefined;
}

type Labels = Readonly<Record<string, string>>;

const unknown: End = { id: 'unknown', kind: 'unknown', namespace: '', name: 'unknown', workloadKind: '' };

/** Creates ends from labels, addresses and host names, in the requested grouping. Equal ends have one `id`. */
export class Ends {
  readonly #options: EndsOptions;
  /** The node of each workload; empty for a workload with pods on several nodes. */
  readonly #nodes = new Map<string, string>();

  constructor(options: EndsOptions) {
    this.#options = options;
  }

  readonly unknown = unknown;

  /** The end that a request metric is about, by the labels of the metric's series. */
  subject(labels: Labels): End {
    const { by } = this.#options;
    const namespace = labels[namespaceLabel] ?? '';
    if (by === 'namespace') return namespaceEnd(namespace);
    if (by === 'node') return nodeEnd(labels[nodeLabel] ?? '');
    return workloadEnd({ namespace, kind: labels['k8s_kind'] || 'Pod', name: labels['k8s_owner_name'] ?? '' });
  }

  /** The end that a host's name or address belongs to. */
  host(host: string, namespace: string): End {
    const { index, atMs, visible } = this.#options;
    return this.#end(ownerOfHost(index, host, { namespace, timeMs: atMs, visible }));
  }

  /** An end of a flow: by its labels, else by its address. */
  flow(labels: Labels, side: 'src' | 'dst'): End {
    const { by, index, atMs } = this.#options;
    const of = (what: string): string => labels[`k8s_${side}_${what}`] ?? '';
    const [namespace, name, kind, node] = [of('namespace'), of('owner_name'), of('owner_type'), of('node_name')];
    if (name === '' && namespace === '') {
      const address = labels[`${side}_address`] ?? '';
      if (address !== '') return this.#end(index.at(address, atMs));
      const cidr = labels[`${side}_cidr`] ?? '';
      return cidr === '' ? unknown : externalEnd(cidr);
    }
    if (kind === 'Node') return by === 'namespace' ? unknown : nodeEnd(name);
    if (kind === 'Service') {
      const service = index.service(namespace, name);
      return service ? this.#end({ kind: 'service', service }) : this.#serviceEnd(namespace, name);
    }
    if (by === 'node') return node === '' ? this.#nodeOf({ namespace, kind, name }) : nodeEnd(node);
    if (by === 'namespace') return namespaceEnd(namespace);
    return name === '' ? unknown : workloadEnd({ namespace, kind: kind || 'Pod', name });
  }

  /** The one node of the workload's pods; undefined when there are several, or when the caller may not see it. */
  nodeOf({ namespace, kind, name }: Workload): string | undefined {
    const { index, visible } = this.#options;
    if (visible?.has(namespace) === false) return undefined;
    if (this.#nodes.size === 0) {
      for (const pod of index.pods()) {
        if (pod.nodeName === '' || pod.ended) continue;
        const own = keyOf(index.workloadOf(pod));
        const known = this.#nodes.get(own);
        this.#nodes.set(own, known === undefined || known === pod.nodeName ? pod.nodeName : '');
      }
    }
    return this.#nodes.get(keyOf({ namespace, kind, name })) || undefined;
  }

  #end(owner: AddressOwner): End {
    const { by, index, visible } = this.#options;
    switch (owner.kind) {
      case 'pod':
        if (by !== 'node') return this.#workload(owner.workload);
        return visible?.has(owner.pod.namespace) === false ? unknown : nodeEnd(owner.pod.nodeName);
      case 'workload':
        return this.#workload(owner.workload);
      case 'service': {
        const behind = index.behind(owner.service);
        if (behind) return this.#workload(behind);
        return this.#serviceEnd(owner.service.namespace, owner.service.name);
      }
      case 'node':
        return by === 'namespace' ? unknown : nodeEnd(owner.name);
      case 'external':
        return externalEnd(owner.name);
      case 'unknown':
        return unknown;
    }
  }

  #workload(workload: Workload): End {
    const { by } = this.#options;
    if (by === 'namespace') return namespaceEnd(workload.namespace);
    return by === 'node' ? this.#nodeOf(workload) : workloadEnd(workload);
  }

  #nodeOf(workload: Workload): End {
    const node = this.nodeOf(workload);
    return node === undefined ? unknown : nodeEnd(node);
  }

  #serviceEnd(namespace: string, name: string): End {
    if (this.#options.by === 'namespace') return namespaceEnd(namespace);
    return { id: `service/${namespace}/${name}`, kind: 'service', namespace, name, workloadKind: '' };
  }
}

function keyOf({ namespace, kind, name }: Workload): string {
  return `${kind} ${namespace}/${name}`;
}

function workloadEnd({ namespace, kind, name }: Workload): End {
  if (name === '') return unknown;
  return { id: `workload/${namespace}/${kind}/${name}`, kind: 'workload', namespace, name, workloadKind: kind };
}

function namespaceEnd(name: string): End {
  if (name === '') return unknown;
  return { id: `namespace/${name}`, kind: 'namespace', namespace: name, name, workloadKind: '' };
}

function nodeEnd(name: string): End {
  return name === '' ? unknown : { id: `node/${name}`, kind: 'node', namespace: '', name, workloadKind: '' };
}

function externalEnd(name: string): End {
  return { id: `external/${name}`, kind: 'external', namespace: '', name, workloadKind: '' };
}
