import type { KubeObject } from '../../../api/meta.ts';
import type { ClusterTrafficPolicy, TrafficMonitor } from '../../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { compile, type CompileInput, type CompileResult } from '../../../capture/index.ts';
import { namedLabels } from '../../../controllers/capture/facts.ts';
import { namespacesByNode } from '../../../controllers/capture/concern.ts';
import { readable, unifiedDiff } from '../../install/object-diff.ts';
import { applied, lastAppliedAnnotation } from './applied.ts';
import { isOurs, refOf } from './documents.ts';
import { orphanVerdict } from './judge.ts';
import { nodeChanges, type NodeGroup } from './node-changes.ts';

/** The planned change of one object. */
export interface ObjectChange {
  readonly object: string;
  readonly change: 'created' | 'configured' | 'unchanged' | 'deleted' | 'absent';
  /** The object's own difference, as a unified diff without its heading. */
  readonly diff: readonly string[];
  /** Changes of the controller's verdict: acceptance, matched pods, conflicts. */
  readonly notes: readonly string[];
}

export interface DiffPlan {
  readonly objects: readonly ObjectChange[];
  readonly groups: readonly NodeGroup[];
  /** Number of nodes. */
  readonly nodes: number;
  /** Warnings about objects that would be accepted. */
  readonly warnings: readonly string[];
}

/** Whether anything differs: an object, or the config of a node. */
export function differs({ objects, groups }: DiffPlan): boolean {
  return groups.length > 0 || objects.some(({ change }) => change !== 'unchanged' && change !== 'absent');
}

/** The cluster after objects are applied or deleted, and the objects as they would be stored. Pure. */
export function worldAfter(
  input: CompileInput,
  wanted: readonly KubeObject[],
  options: { delete: boolean; now: number },
): { input: CompileInput; stored: readonly KubeObject[] } {
  const monitors = new Map(input.monitors.map((m) => [refOf(m), m]));
  const policies = new Map(input.policies.map((p) => [refOf(p), p]));
  const namespaces = new Map(input.namespaces.map((n) => [n.name, n]));
  const stored: KubeObject[] = [];
  for (const object of wanted) {
    const ref = refOf(object);
    if (!isOurs(object)) {
      const { name, labels } = namedLabels(object);
      if (!options.delete)
        namespaces.set(name, {
          name,
          labels: { ...namespaces.get(name)?.labels, 'kubernetes.io/metadata.name': name, ...labels },
        });
      continue;
    }
    const map = (object.kind === 'TrafficMonitor' ? monitors : policies) as Map<string, unknown>;
    if (options.delete) {
      map.delete(ref);
      continue;
    }
    const next = applied(map.get(ref) as KubeObject | undefined, object);
    // A new object is the youngest of all.
    next.metadata = { creationTimestamp: new Date(options.now).toISOString(), ...next.metadata };
    map.set(ref, next);
    stored.push(next);
  }
  return {
    input: {
      ...input,
      monitors: [...monitors.values()],
      policies: [...policies.values()],
      namespaces: [...namespaces.values()],
    },
    stored,
  };
}

/** What applying, or deleting, objects changes. Pure. Errors: those of `compile` for the environment. */
export function diffPlan(
  input: CompileInput,
  wanted: readonly KubeObject[],
  options: { delete: boolean; now: number },
): DiffPlan {
  const after = worldAfter(input, wanted, options);
  const [old, next] = [compile(input), compile(after.input)];
  const ours = [...new Map(wanted.filter(isOurs).map((object) => [refOf(object), object])).values()];
  return {
    objects: ours.map((object) => objectChange(object, input, after.input, old, next)),
    groups: nodeChanges(old, next, namespacesByNode(input)),
    nodes: input.nodes.length,
    warnings: after.stored.flatMap((object) => orphanWarning(object, input, after.input)),
  };
}

/**
 * The admission webhook's warning when the new spec of a policy leaves monitors without anything to capture. The webhook
 * judges before the spec is stored, so the policy has its present spec here, and all other objects are as they will be.
 */
function orphanWarning(object: KubeObject, before: CompileInput, after: CompileInput): string[] {
  if (object.kind !== 'ClusterTrafficPolicy') return [];
  const { name } = object.metadata;
  const others = after.policies.filter((p) => p.metadata.name !== name);
  const live = before.policies.filter((p) => p.metadata.name === name);
  const verdict = orphanVerdict(
    { ...after, policies: [...others, ...live] },
    object as unknown as ClusterTrafficPolicy,
  );
  return verdict ? [verdict.message] : [];
}

function find(input: CompileInput, object: KubeObject): KubeObject | undefined {
  const list: readonly (TrafficMonitor | ClusterTrafficPolicy)[] =
    object.kind === 'TrafficMonitor' ? input.monitors : input.policies;
  return list.find((one) => refOf(one) === refOf(object)) as KubeObject | undefined;
}

function objectChange(
  object: KubeObject,
  before: CompileInput,
  after: CompileInput,
  old: CompileResult,
  next: CompileResult,
): ObjectChange {
  const [live, stored] = [find(before, object), find(after, object)];
  const change = !live
    ? stored
      ? 'created'
      : 'absent'
    : !stored
      ? 'deleted'
      : readableOf(live) === readableOf(stored)
        ? 'unchanged'
        : 'configured';
  const diff = change === 'unchanged' || change === 'absent' ? [] : unifiedDiff(readableOf(live), readableOf(stored));
  return { object: refOf(object), change, diff, notes: notesOf(object, old, next) };
}

/** The object as users write it. Its members are sorted, because their order alone is not a change. */
function readableOf(object: KubeObject | undefined): string {
  if (!object) return '';
  const { labels, annotations, ...metadata } = object.metadata;
  const { [lastAppliedAnnotation]: _last, ...own } = annotations ?? {};
  const some = (map: Record<string, string> | undefined) => (map && Object.keys(map).length > 0 ? map : undefined);
  const shown = {
    ...metadata,
    ...(some(labels) ? { labels } : {}),
    ...(some(own) ? { annotations: own } : {}),
  };
  const { apiVersion, kind, spec } = object;
  return readable(JSON.parse(canonicalJson({ apiVersion, kind, metadata: shown, spec })) as KubeObject);
}

/** The controller's verdict in words, if it differs from the present one. */
function notesOf(object: KubeObject, old: CompileResult, next: CompileResult): string[] {
  const key = refOf(object).replace(/^\S+ /, '');
  if (object.kind !== 'TrafficMonitor') {
    const [a, b] = [old.policies.get(key), next.policies.get(key)];
    return [
      ...changed('nodes in scope', a?.nodes.length, b?.nodes.length),
      ...changed('accepted', verdict(a), verdict(b)),
    ];
  }
  const [a, b] = [old.monitors.get(key), next.monitors.get(key)];
  const conflicts = (outcome: typeof b) =>
    outcome?.conflicts.map((c) => `${c.fields.join(', ')} to ${c.with} (${c.resolution})`).join('; ') || undefined;
  return [
    ...changed('matched pods', a?.matchedPods, b?.matchedPods),
    ...changed('nodes with a matched pod', a?.nodes.length, b?.nodes.length),
    ...changed('accepted', verdict(a), verdict(b)),
    ...changed('loses', conflicts(a), conflicts(b)),
    ...changed('destinations that no policy allows', refused(a), refused(b)),
  ];
}

function verdict(
  outcome: { accepted: { ok: boolean; reason: string; message: string } } | undefined,
): string | undefined {
  if (!outcome) return undefined;
  const { reason, message } = outcome.accepted;
  return message === '' ? reason : `${reason} (${message})`;
}

function refused(outcome: { exports: readonly { name: string; allowed: boolean }[] } | undefined): string | undefined {
  return (
    outcome?.exports
      .filter(({ allowed }) => !allowed)
      .map(({ name }) => name)
      .join(', ') || undefined
  );
}

function changed(what: string, before: string | number | undefined, after: string | number | undefined): string[] {
  if (before === after || after === undefined) return before === after ? [] : [`${what}: ${before} → none`];
  return [before === undefined ? `${what}: ${after}` : `${what}: ${before} → ${after}`];
}
