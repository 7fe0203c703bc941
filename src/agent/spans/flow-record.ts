import type { FlowEnd, FlowRecord } from '../../stream/index.ts';
import type { Attribute } from '../otlp/model.ts';
import { valueText } from '../mapping/label-set.ts';

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
