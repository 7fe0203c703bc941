import type { CaptureConfig, CaptureMonitorRule } from '../../capture/index.ts';
import { sha256Hex } from '../../base/canonical-json.ts';

type MonitorExport = NonNullable<CaptureConfig['monitors'][number]['exports']>[number];
export type ExportRule = Omit<MonitorExport, 'name'>;

/** One export destination: a member of a policy's or a monitor's `export`. */
export interface Destination {
  /** Name of the destination's folder of queued data. Changes with owner, name, type or URL, which that data is for. */
  readonly id: string;
  /** `ClusterTrafficPolicy/<name>` or `TrafficMonitor/<namespace>/<name>`. */
  readonly owner: string;
  readonly name: string;
  /** Uid of the monitor, which tells it from a later one of the same name; absent for a policy. */
  readonly uid?: string;
  readonly rule: ExportRule;
  /** The pods or namespaces whose series it gets. */
  readonly scope: ExportScope;
}

export type ExportScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'namespaces'; readonly namespaces: ReadonlySet<string> }
  | {
      readonly kind: 'pods';
      readonly namespace: string;
      readonly pods: ReadonlySet<string>;
      /** The containers of these pods and the ports that they serve, as in the monitor's rule. */
      readonly sender: Pick<CaptureMonitorRule, 'containers' | 'ports'>;
    };

/** The destinations that a capture config names, policies first. */
export function destinationsOf(config: CaptureConfig): Destination[] {
  const make = (
    of: Pick<Destination, 'owner' | 'uid'>,
    { name, ...rule }: MonitorExport,
    scope: ExportScope,
  ): Destination => ({
    id: sha256Hex(`${of.owner}\n${name}\n${rule.type}\n${rule.endpoint}`).slice(0, 24),
    ...of,
    name,
    rule,
    scope,
  });
  return [
    ...(config.exports ?? []).map(({ policy, namespaces, ...rule }) =>
      make(
        { owner: `ClusterTrafficPolicy/${policy}` },
        rule,
        namespaces ? { kind: 'namespaces', namespaces: new Set(namespaces) } : { kind: 'all' },
      ),
    ),
    ...config.monitors.flatMap(({ namespace, name, uid, pods, exports, containers, ports }) => {
      const sender = { ...(containers ? { containers } : {}), ...(ports ? { ports } : {}) };
      const scope: ExportScope = { kind: 'pods', namespace, pods: new Set(pods), sender };
      return (exports ?? []).map((rule) => make({ owner: `TrafficMonitor/${namespace}/${name}`, uid }, rule, scope));
    }),
  ];
}

/** The name of a destination in logs, metrics and statuses. */
export function destinationName({ owner, name }: Pick<Destination, 'owner' | 'name'>): string {
  return `${owner}/${name}`;
}
