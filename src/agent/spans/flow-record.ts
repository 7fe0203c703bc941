import type { Attribute } from '../otlp/model.ts';
import { valueText } from '../mapping/label-set.ts';

/** One end of a flow. Absent members were not known: how much is depends on the flow attributes of the policy. */
export interface FlowEnd {
  readonly namespace?: string;
  readonly name?: string;
  /** `Pod`, `Service`, `Node`. */
  readonly kind?: string;
  readonly workload?: { readonly kind: string; readonly name: string };
  readonly node?: string;
  readonly address?: string;
  readonly port?: number;
  readonly zone?: string;
  readonly cidr?: string;
}

/** What two ends exchanged between two reports of the instrument. */
export interface FlowRecord {
  /** The end of the time that the bytes were counted in. RFC 3339, UTC. */
  readonly end: string;
  /** `request`, `response` or `unknown`. */
  readonly direction: string;
  /** `TCP`, `UDP` …; absent where the policy does not ask for it. */
  readonly protocol?: string;
  readonly bytes: number;
  readonly source: FlowEnd;
  readonly destination: FlowEnd;
  /** The flow's other attributes. */
  readonly attributes: Readonly<Record<string, string>>;
}

const endKeys = ['address', 'port', 'name', 'zone', 'cidr'] as const;

/** A flow point's attributes as a record. */
export function flowRecord(attributes: readonly Attribute[], bytes: number, end: string): FlowRecord {
  const rest = new Map(attributes.map(({ key, value }) => [key, valueText(value)]));
  const take = (key: string): string | undefined => {
    const value = rest.get(key);
    rest.delete(key);
    return value === '' ? undefined : value;
  };
  const protocol = take('transport');
  return {
    end,
    direction: take('direction') ?? 'unknown',
    ...(protocol ? { protocol: protocol.toUpperCase() } : {}),
    bytes,
    source: flowEnd('src', take),
    destination: flowEnd('dst', take),
    attributes: Object.fromEntries([...rest].filter(([, value]) => value !== '')),
  };
}

function flowEnd(side: 'src' | 'dst', take: (key: string) => string | undefined): FlowEnd {
  const [address, port, name, zone, cidr] = endKeys.map((key) => take(`${side}.${key}`));
  const k8s = (key: string): string | undefined => take(`k8s.${side}.${key}`);
  const object = k8s('name') ?? name;
  const ownerName = k8s('owner.name');
  const ownerKind = k8s('owner.type');
  const end = {
    namespace: k8s('namespace'),
    name: object,
    kind: k8s('type'),
    workload: ownerName ? { kind: ownerKind ?? 'unknown', name: ownerName } : undefined,
    node: k8s('node.name'),
    address,
    port: port && /^\d{1,5}$/.test(port) ? Number(port) : undefined,
    zone,
    cidr,
  };
  return Object.fromEntries(Object.entries(end).filter(([, value]) => value !== undefined));
}
