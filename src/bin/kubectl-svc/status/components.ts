import type { KubeObject } from '../../../api/meta.ts';
import { shouldRunOn, type NodeForScheduling, type PodForScheduling } from '../../../api/agents/scheduling.ts';
import { conditionOf, rolloutOf } from '../../../api/statuses.ts';
import { troubleOver, troublePrefix, troubleRepeatMs } from '../../../api/trouble-events.ts';
import { names, selectorLabels, selectorText, type Component } from '../../../render/index.ts';
import { podFault, type PodWithStatus } from '../cluster/pod-fault.ts';
import { operatorImage } from '../cluster/operator-environment.ts';
import { itemsOf, named, type ClusterView } from '../cluster/view.ts';
import { about, type Check, type CheckState, type Section } from './check.ts';
import { eventTime, type EventObject } from './events.ts';
import { ways } from './hints.ts';

/** The pods of one of the product's components, sorted by name. */
export function podsOf(view: ClusterView, component: Component): PodWithStatus[] {
  const wanted = Object.entries(selectorLabels(component));
  return itemsOf(view.ownPods)
    .filter(({ metadata }) => wanted.every(([key, value]) => metadata.labels?.[key] === value))
    .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
}

/** Checks the operator's Deployment, its pods, the leader, and what the leader reports of the product's own objects. */
export function operatorChecks(view: ClusterView): Check[] {
  return [
    ...deploymentChecks(view, 'operator', 'controller', names.controller),
    ...leaderChecks(view),
    ...troubleChecks(view),
  ];
}

export function queryChecks(view: ClusterView): Check[] {
  return deploymentChecks(view, 'query', 'query', names.query);
}

function deploymentChecks(view: ClusterView, section: Section, component: Component, name: string): Check[] {
  const is = about(section, name);
  if (view.deployments.fault !== undefined) return [is('unknown', view.deployments.fault)];
  const deployment = named(view.deployments, name);
  if (!deployment) {
    const hint =
      component === 'controller'
        ? 'svc install, or name the namespace of the installation with --operator-namespace'
        : 'the operator makes it: see Operator';
    return [is('bad', `no Deployment in ${view.namespace}`, hint)];
  }
  const { state, text } = progressOf(deployment);
  const hint = state === 'ok' ? undefined : `kubectl -n ${view.namespace} describe deployment ${name}`;
  const version = operatorImage(deployment);
  return [is(state, version ? `${text}, ${version}` : text, hint), ...podFaults(view, section, component)];
}

/** The progress of a Deployment. */
function progressOf(deployment: KubeObject): { state: CheckState; text: string } {
  const { seen, wanted: desired, ready, updated } = rolloutOf(deployment);
  const text = `${ready}/${desired} replicas ready`;
  if (!seen) return { state: 'progressing', text: `${text}, the newest change is not seen yet` };
  const progress = conditionOf(deployment, 'Progressing');
  const short = ready < desired;
  if (progress?.status === 'False' && (short || updated < desired))
    return { state: 'bad', text: `${text}: ${progress.message ?? progress.reason}` };
  if (desired === 0) return { state: 'bad', text: 'scaled to 0 replicas' };
  if (ready === 0) return { state: 'bad', text };
  if (short || updated < desired) return { state: 'progressing', text: `${text}, ${updated} updated` };
  return { state: 'ok', text };
}

/** A line for each unready pod of a component. */
function podFaults(view: ClusterView, section: Section, component: Component): Check[] {
  return podsOf(view, component).flatMap((pod): Check[] => {
    const fault = podFault(pod);
    if (fault === null || fault === 'is ending') return [];
    const name = pod.metadata.name ?? '';
    const hint = `kubectl -n ${view.namespace} describe pod ${name}; kubectl -n ${view.namespace} logs ${name} --all-containers`;
    return [about(section, `pod ${name}`)('bad', fault, hint)];
  });
}

interface LeaseSpec {
  holderIdentity?: string | null;
  acquireTime?: string;
  renewTime?: string;
  leaseDurationSeconds?: number;
}

/** Added to the life of a lease, because the clocks of user and cluster may differ. Units: ms. */
const skewMs = 60_000;

function leaderChecks(view: ClusterView): Check[] {
  const is = about('operator', 'leader');
  if (view.leases.fault !== undefined) return [is('unknown', view.leases.fault)];
  const { holderIdentity, renewTime = '', leaseDurationSeconds = 15 } = leaseSpec(view);
  const hint = `kubectl -n ${view.namespace} logs deployment/${names.controller}`;
  if (!holderIdentity) return [is('bad', 'no replica holds the Lease svc-controller', hint)];
  const silentMs = view.now - Date.parse(renewTime);
  const holder = holderIdentity.split('_')[0]!;
  if (silentMs < leaseDurationSeconds * 1_000 + skewMs) return [is('ok', holder)];
  return [is('bad', `${holder} has not renewed its Lease since ${renewTime || 'ever'}`, hint)];
}

function leaseSpec(view: ClusterView): LeaseSpec {
  return named(view.leases, names.controller)?.['spec'] ?? {};
}

/**
 * The fault of the product's own objects in the newest Event of the leader; nothing when there is none. An Event that
 * was not repeated is past: the one that ends the fault may have been lost.
 */
function troubleChecks(view: ClusterView): Check[] {
  const is = about('operator', 'platform');
  if (view.operatorEvents.fault !== undefined) return [is('unknown', view.operatorEvents.fault)];
  const { acquireTime = '', renewTime = '' } = leaseSpec(view);
  // The clock of the user may be off, so Events are compared with other times of the leader's clock.
  const present = Date.parse(renewTime) || view.now;
  const since = Math.max(Date.parse(acquireTime) || 0, present - 3 * troubleRepeatMs);
  const newest = view.operatorEvents.items
    .map((event) => event as EventObject)
    .filter(({ note }) => note?.startsWith(troublePrefix))
    .toSorted((a, b) => eventTime(b) - eventTime(a))[0];
  if (!newest || newest.reason === troubleOver || eventTime(newest) < since) return [];
  const { reason = '', note = '' } = newest;
  return [is('bad', `${reason}: ${note.slice(troublePrefix.length).replaceAll(/\s+/g, ' ')}`, ways[reason])];
}

/** Checks the DaemonSet of the agents. `agentNodeChecks` adds the nodes without a ready agent, each with the reason. */
export function agentSetChecks(view: ClusterView): Check[] {
  const is = about('agents', names.agent);
  if (view.daemonSets.fault !== undefined) return [is('unknown', view.daemonSets.fault)];
  const set = named(view.daemonSets, names.agent);
  if (!set) return [is('bad', `no DaemonSet in ${view.namespace}`, 'the operator makes it: see Operator')];
  const { seen, wanted: desired, ready, updated } = rolloutOf(set);
  const text = `${ready}/${desired} ready, ${updated} updated`;
  const hint = `kubectl -n ${view.namespace} get pods -o wide -l ${selectorText('agent')}`;
  if (desired === 0 && seen) return [is('bad', 'no node takes an agent', hint)];
  const whole = seen && ready >= desired && updated >= desired;
  return [whole ? is('ok', text) : is('progressing', text, hint)];
}

/** Whether the DaemonSet of the agents would place a pod on a node; true when unknown. */
export function wantsAgent(view: ClusterView, node: NodeForScheduling): boolean {
  const spec = named(view.daemonSets, names.agent)?.['spec'] as { template?: { spec?: PodForScheduling } } | undefined;
  const template = spec?.template?.spec;
  return template === undefined || shouldRunOn(template, node);
}

/** The message for a node without an agent by design. */
export const leftOut = 'DaemonSet svc-agent leaves the node out: its nodeSelector, affinity or tolerations';
