import type { Condition, KubeObject } from '../../../api/meta.ts';
import { clusterTrafficPolicies, minterDeployments, trafficMonitors } from '../../../api/v1alpha1/index.ts';
import { coreResources } from '../../../api/core-resources.ts';
import type { Complete } from '../command.ts';
import { PluginError } from '../errors.ts';
import { listedMonitors, unreadError, type ClusterView, type Reading } from '../cluster/view.ts';
import { about, isWell, type Check } from './check.ts';
import { nodeWayOut, wayOut } from './hints.ts';
import { nodeCheck, nodeRows, type NodeRow } from './node-rows.ts';
import { minterKind, monitorKind, objectChecks, policyKind, type ObjectKind } from './objects.ts';
import type { StatusReport } from './report.ts';
import { isGood, type Conditioned } from './readiness.ts';

/** The kinds that a report can be narrowed to, with the names that kubectl accepts for each. */
const parts = {
  trafficmonitors: { list: 'monitors', kind: monitorKind, resource: trafficMonitors, words: ['trafficmonitor', 'tm'] },
  clustertrafficpolicies: {
    list: 'policies',
    kind: policyKind,
    resource: clusterTrafficPolicies,
    words: ['clustertrafficpolicy', 'ctp'],
  },
  minterdeployments: {
    list: 'minters',
    kind: minterKind,
    resource: minterDeployments,
    words: ['minterdeployment', 'md'],
  },
  nodes: { list: 'nodes', kind: undefined, resource: coreResources.nodes, words: ['node'] },
} as const;
export type PartName = keyof typeof parts;

/** Each accepted name of a kind → the kind. */
export const statusParts: ReadonlyMap<string, PartName> = new Map(
  (Object.keys(parts) as PartName[]).flatMap((name) => [name, ...parts[name].words].map((word) => [word, name])),
);

/** Completes the names of objects of the kind that was typed before; the kinds themselves are a fixed set. */
export const objectNames: Complete = async (session, _word, [word = '', ...rest]) => {
  const which = statusParts.get(word);
  return which && rest.length === 0 ? session.names(parts[which].resource) : [];
};

export interface PartReport extends StatusReport {
  /** Present in a report on nodes. */
  readonly rows?: readonly NodeRow[];
}

/**
 * Reports on one kind, or on one object of it with each of its conditions. Pure.
 * Errors: PluginError when the kind cannot be read, or there is no object of that name.
 */
export function part(view: ClusterView, which: PartName, name: string | undefined): PartReport {
  const { list, kind } = parts[which];
  const reading: Reading<KubeObject> = list === 'monitors' ? listedMonitors(view) : view[list];
  if (reading.fault !== undefined) {
    const rights = / of all namespaces$/.test(reading.fault) ? ['-n NAMESPACE looks at one namespace only'] : [];
    throw unreadError(reading, reading.fault, rights);
  }
  const objects = name === undefined ? reading.items : reading.items.filter(({ metadata }) => metadata.name === name);
  if (name !== undefined && objects.length === 0) {
    throw new PluginError('ERR_API_NOT_FOUND', `${which}: there is no ${name} here`, {
      hints: [`kubectl get ${which} -A`],
    });
  }
  if (!kind) return nodePart(view, name);
  const summary = objectChecks({ items: objects }, kind);
  const details = name === undefined ? [] : objects.flatMap((object) => conditionChecks(object, kind));
  return { well: isWell(summary), checks: [...summary, ...details] };
}

function nodePart(view: ClusterView, name: string | undefined): PartReport {
  const rows = nodeRows(view).filter((row) => name === undefined || row.name === name);
  const checks = rows.map((row) => nodeCheck(row, row.name));
  return { well: isWell(checks), checks, rows };
}

/**
 * Each condition with its message, as in `kubectl describe`, then each failed node. Each row has a state, which is
 * shown but does not affect the verdict.
 */
function conditionChecks(object: Conditioned, kind: ObjectKind): Check[] {
  const { namespace, name = '' } = object.metadata;
  const words = ({ status, reason, message }: Condition): string =>
    [`${status} ${reason}`, message].filter((text) => text !== '').join(': ');
  const rows = (object.status?.conditions ?? []).map((condition): Check => {
    const good = isGood(condition, kind.table);
    const state = good ? 'ok' : kind.quiet.has(condition.reason) ? 'note' : conditionState(condition, kind);
    const hint = good ? undefined : wayOut(condition.reason, { plural: kind.plural, name, namespace });
    return about(kind.section, condition.type)(state, words(condition), hint);
  });
  const nodes = (object.status as { failedNodes?: { name: string; reason: string; message?: string }[] } | undefined)
    ?.failedNodes;
  return [
    ...rows,
    ...(nodes ?? []).map(({ name: node, reason, message = '' }) => {
      const text = [reason, message].filter((part) => part !== '').join(': ');
      return about(kind.section, `node ${node}`)('bad', text, nodeWayOut(reason, node));
    }),
  ];
}

function conditionState({ type }: Condition, kind: ObjectKind): Check['state'] {
  if (type === 'Reconciling') return 'progressing';
  const decides = ['Ready', 'Stalled', 'Accepted', 'ResolvedRefs', 'Programmed'].includes(type);
  return decides || kind.faults.has(type) || kind === minterKind ? 'bad' : 'note';
}
