import { workloadKinds, type WorkloadKind } from '../../../api/v1alpha1/index.ts';
import { UsageError } from '../errors.ts';

/** The object to explain. */
export type Target =
  | { readonly type: 'pod'; readonly name: string }
  | { readonly type: 'workload'; readonly kind: WorkloadKind; readonly name: string }
  | { readonly type: 'monitor'; readonly name: string }
  | { readonly type: 'node'; readonly name: string };

type TargetKind = 'Pod' | 'TrafficMonitor' | 'Node' | WorkloadKind;

const words: ReadonlyMap<string, TargetKind> = new Map<string, TargetKind>([
  ...(['pod', 'pods', 'po'] as const).map((word) => [word, 'Pod'] as const),
  ...(['node', 'nodes', 'no'] as const).map((word) => [word, 'Node'] as const),
  ...(['monitor', 'monitors', 'tm', 'trafficmonitor', 'trafficmonitors'] as const).map(
    (word) => [word, 'TrafficMonitor'] as const,
  ),
  ...(['deploy', 'sts', 'ds', 'rs', 'cj'] as const).map(
    (word, i) => [word, (['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'CronJob'] as const)[i]!] as const,
  ),
  ...workloadKinds.flatMap((kind) => {
    const word = kind.toLowerCase();
    return [word, `${word}s`].map((form) => [form, kind] as const);
  }),
]);

/** Kinds that `explain` accepts, for help and completion. */
export const targetWords: readonly string[] = [
  'pod',
  'deployment',
  'statefulset',
  'daemonset',
  'replicaset',
  'job',
  'cronjob',
  'monitor',
  'node',
];

/** `pod/NAME`, or `pod NAME`. Errors: UsageError that lists the kinds. */
export function parseTarget(args: readonly string[]): Target {
  const [kind = '', name = '', ...rest] = args.length === 1 ? args[0]!.split('/') : args;
  const found = words.get(kind.toLowerCase().replace(/\.(apps|batch|svc\.dev)$/, ''));
  if (!found || name === '' || rest.length > 0) {
    throw new UsageError(
      `${JSON.stringify(args.join(' '))} names nothing that can be explained`,
      `name it as KIND/NAME, where KIND is ${targetWords.join(', ')}`,
    );
  }
  if (found === 'TrafficMonitor') return { type: 'monitor', name };
  if (found === 'Node') return { type: 'node', name };
  return found === 'Pod' ? { type: 'pod', name } : { type: 'workload', kind: found, name };
}
