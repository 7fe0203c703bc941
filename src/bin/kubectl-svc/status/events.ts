import type { KubeObject } from '../../../api/meta.ts';
import { conditionOf } from '../../../api/statuses.ts';
import { group } from '../../../api/v1alpha1/index.ts';
import type { ClusterView } from '../cluster/view.ts';
import { about, type Check } from './check.ts';

/** An event of `events.k8s.io/v1`: the fields that are used here. */
export interface EventObject extends KubeObject {
  type?: string;
  reason?: string;
  note?: string;
  eventTime?: string | null;
  deprecatedLastTimestamp?: string | null;
  deprecatedCount?: number;
  series?: { count: number; lastObservedTime: string } | null;
  regarding?: { apiVersion?: string; kind?: string; namespace?: string; name?: string };
}

const shown = 5;
/** Older events are not shown: they are about past problems. Units: ms. */
const recentMs = 3_600_000;

/**
 * The newest warnings about our objects and about the pods of the operator's namespace. They are notes, which do not
 * change the verdict of the report: events may be late or lost, and are not repeated. Those of the leading operator
 * about its own Deployment are repeated, so that they count (components.ts).
 */
export function eventChecks(view: ClusterView): Check[] {
  if (view.events.fault !== undefined) return [about('events', 'events')('unknown', view.events.fault)];
  const newest = view.events.items
    .map((event) => event as EventObject)
    .filter(({ type, regarding }) => type === 'Warning' && concerns(regarding, view.namespace))
    .map((event) => ({ event, at: eventTime(event) }))
    .filter(({ event, at }) => view.now - at < recentMs && !hasPassed(view, event, at))
    .toSorted((a, b) => b.at - a.at);
  return newest.slice(0, shown).map(({ event, at }) => {
    const { kind = '', namespace, name = '' } = event.regarding ?? {};
    const inside = event.regarding?.apiVersion?.startsWith(`${group}/`) ? namespace : undefined;
    const count = event.series?.count ?? event.deprecatedCount ?? 1;
    const times = count > 1 ? ` (${count} times)` : '';
    return {
      section: 'events',
      subject: `${kind.toLowerCase()}/${inside === undefined ? name : `${inside}/${name}`}`,
      state: 'note',
      text: `${ago(view.now - at)} ago ${event.reason ?? ''}${times}: ${(event.note ?? '').replaceAll(/\s+/g, ' ').slice(0, 300)}`,
    };
  });
}

/** Warnings from before a pod became ready are outdated, and so are those about a deleted pod. */
function hasPassed(view: ClusterView, { regarding }: EventObject, at: number): boolean {
  if (regarding?.kind !== 'Pod' || regarding.namespace !== view.namespace || view.ownPods.fault !== undefined)
    return false;
  const pod = view.ownPods.items.find(({ metadata }) => metadata.name === regarding.name);
  const ready = conditionOf(pod, 'Ready');
  return pod === undefined || (ready?.status === 'True' && at <= Date.parse(ready.lastTransitionTime ?? ''));
}

function concerns(regarding: EventObject['regarding'], namespace: string): boolean {
  return regarding?.namespace === namespace || (regarding?.apiVersion ?? '').startsWith(`${group}/`);
}

/** When an event was last seen. Units: ms since 1970. */
export function eventTime({ series, eventTime, deprecatedLastTimestamp, metadata }: EventObject): number {
  const text = series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';
  return Date.parse(text) || 0;
}

/** An age in one unit: `45s`, `7m`, `3h`, `2d`. */
export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
