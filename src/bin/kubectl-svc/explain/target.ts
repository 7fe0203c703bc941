import type { WorkloadKind } from '../../../api/v1alpha1/index.ts';
import { trafficMonitors } from '../../../api/v1alpha1/index.ts';
import { coreResources } from '../../../api/core-resources.ts';
import type { Complete } from '../command.ts';
import { UsageError } from '../errors.ts';

/** The object to explain. */
export type Target =
  | { readonly type: 'pod'; readonly name: string }
  | { readonly type: 'workload'; readonly kind: WorkloadKind; readonly name: string }
  | { readonly type: 'monitor'; readonly name: string }
  | { readonly type: 'node'; readonly name: string };

/** Kinds that `explain` accepts. Help and completion show the first word of each. */
const kinds = [
  { type: 'pod', words: ['pod', 'pods', 'po'], resource: coreResources.pods },
  { type: 'Deployment', words: ['deployment', 'deployments', 'deploy'], resource: coreResources.deployments },
  { type: 'StatefulSet', words: ['statefulset', 'statefulsets', 'sts'], resource: coreResources.statefulSets },
  { type: 'DaemonSet', words: ['daemonset', 'daemonsets', 'ds'], resource: coreResources.daemonSets },
  { type: 'ReplicaSet', words: ['replicaset', 'replicasets', 'rs'], resource: coreResources.replicaSets },
  { type: 'Job', words: ['job', 'jobs'], resource: coreResources.jobs },
  { type: 'CronJob', words: ['cronjob', 'cronjobs', 'cj'], resource: coreResources.cronJobs },
  {
    type: 'monitor',
    words: ['monitor', 'monitors', 'tm', 'trafficmonitor', 'trafficmonitors'],
    resource: trafficMonitors,
  },
  { type: 'node', words: ['node', 'nodes', 'no'], resource: coreResources.nodes },
] as const;

const kindOf = (word: string) => kinds.find(({ words }) => words.some((one) => one === word));

export const targetWords: readonly string[] = kinds.map(({ words }) => words[0]);

/** Parses `pod/NAME` or `pod NAME`. Errors: UsageError that lists the kinds. */
export function parseTarget(args: readonly string[]): Target {
  const [word = '', name = '', ...rest] = args.length === 1 ? args[0]!.split('/') : args;
  const kind = kindOf(word.toLowerCase().replace(/\.(apps|batch|svc\.dev)$/, ''));
  if (!kind || name === '' || rest.length > 0) {
    throw new UsageError(
      `${JSON.stringify(args.join(' '))} names nothing that can be explained`,
      `name it as KIND/NAME, where KIND is ${targetWords.join(', ')}`,
    );
  }
  const { type } = kind;
  if (type === 'pod' || type === 'monitor' || type === 'node') return { type, name };
  return { type: 'workload', kind: type, name };
}

/** Completes `pod/…`: kinds before the slash, names after it. After a kind as a separate word, it completes names. */
export const targetNames: Complete = async (session, word, [before, ...rest]) => {
  if (rest.length > 0) return [];
  const [kind = '', name] = before === undefined ? word.split('/') : [before];
  if (before === undefined && name === undefined) return targetWords.map((one) => `${one}/`);
  const resource = kindOf(kind)?.resource;
  const names = resource ? await session.names(resource) : [];
  return before === undefined ? names.map((one) => `${kind}/${one}`) : names;
};
