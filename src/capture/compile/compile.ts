import { compareText } from '../../base/text/texts.ts';
import type { ClusterTrafficPolicy, TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { appendTo } from '../../base/collections/counts.ts';
import { isDeepStrictEqual } from 'node:util';
import type { CaptureMonitorRule } from '../capture-config.ts';
import { ConfigEncoder } from '../config-encoder.ts';
import { judgeMonitors, judgePolicies, objectRef, policiesInForce } from './check/acceptance.ts';
import { namespaceOf, planGroup, type GroupPlan, type MonitorInForce } from './group.ts';
import { Memo } from './memo.ts';
import { rolloutOf } from './node-wide.ts';
import { monitorOutcomes, policyOutcomes, type Group } from './outcomes.ts';
import { matchPods } from './select/pods.ts';
import { compareMonitors, objectPath } from './select/precedence.ts';
import { matchesSelector } from './select/selector.ts';
import type { PolicyInForce } from './settings.ts';
import type { CompileInput, CompileResult, NamedLabels, NodeConfig, PodFacts } from './types.ts';

/**
 * The configs that the agents run and the outcomes that the statuses report, from plain facts.
 * Pure: the same facts in any order give the same bytes. An invalid object never fails the whole compile: it is
 * represented by its last accepted spec or left out, and its outcome says why.
 * With a memo of earlier compiles only changed parts are computed again, and unchanged outcomes are the same objects as
 * before; the result is equal either way.
 * Errors: ERR_CONFIG_INVALID for the environment (ports, instrument version).
 */
export function compile(input: CompileInput, memo = new Memo()): CompileResult {
  const { environment, podsOf, ...world } = remembered(input, memo);
  const root = memo.owner('root');
  const policies = memo.cell(root, 'policies', [environment, ...world.policies], () =>
    judgePolicies(world.policies, environment),
  );
  const inForce = memo.cell(root, 'policies in force', [policies], () => policiesInForce(policies));
  const namespaces = memo.list(root, 'namespaces', byName(world.namespaces));
  const nodes = memo.list(root, 'nodes', byName(world.nodes));
  const judged = judgeMonitors(world.monitors, inForce, namespaces, memo);
  const monitors = ranked(
    judged.flatMap((m): MonitorInForce[] => {
      const spec = m.inForce;
      if (!spec) return [];
      const make = (): MonitorInForce => ({ key: objectPath(m.object.metadata), object: m.object, spec });
      return [memo.cell(m.object, 'in force', [spec], make)];
    }),
    memo,
  );
  const matched = matchAll(monitors, podsOf, memo);
  const groups = groupNodes(nodes, inForce, memo, (covering, owner) =>
    planGroup({ environment, policies: covering, namespaces, monitors, memo, owner }),
  );
  const generations = new Map(
    [...policies, ...judged]
      .filter((o) => o.accepted.ok)
      .map(({ object }) => [objectRef(object), object.metadata.generation ?? 0] as const),
  );
  const configs = nodeConfigs({ groups, monitors, matched, generations, memo });
  const outcomes = monitorOutcomes({ judged, inForce: monitors, matched, groups, memo });
  return {
    nodes: new Map(configs.toSorted(([a], [b]) => compareText(a, b))),
    monitors: outcomes,
    policies: policyOutcomes(policies, outcomes, groups),
  };
}

/** The facts, each replaced by the earlier object when it is equal in all fields that a compile reads. */
function remembered(
  input: CompileInput,
  memo: Memo,
): Omit<CompileInput, 'pods'> & { podsOf: (namespace: string) => readonly PodFacts[] } {
  memo.begin();
  const object = <T extends TrafficMonitor | ClusterTrafficPolicy>(o: T): T =>
    memo.keep(`${o.kind} ${objectPath(o.metadata)}`, o, sameObject);
  const named = (kind: string) => (n: NamedLabels) => memo.keep(`${kind} ${n.name}`, n);
  return {
    environment: memo.keep('environment', input.environment),
    policies: input.policies.map(object),
    monitors: input.monitors.map(object),
    namespaces: input.namespaces.map(named('namespace')),
    nodes: input.nodes.map(named('node')),
    podsOf: rememberedPods(input.pods, memo),
  };
}

/** By namespace: pods are the most numerous facts, so a namespace whose pods are unchanged costs one comparison. */
function rememberedPods(pods: readonly PodFacts[], memo: Memo): (namespace: string) => readonly PodFacts[] {
  const given = Map.groupBy(pods, (pod) => pod.namespace);
  const lists = new Map<string, readonly PodFacts[]>();
  return (namespace) => {
    const known = lists.get(namespace);
    if (known) return known;
    const owner = memo.owner(`namespace ${namespace}`);
    const list = memo.cell<readonly PodFacts[]>(owner, 'pods as they came', given.get(namespace) ?? [], (before) => {
      const last = new Map(before?.map((p) => [p.name, p]));
      return (given.get(namespace) ?? []).map((pod) => {
        const same = last.get(pod.name);
        return same && (same === pod || isDeepStrictEqual(same, pod)) ? same : pod;
      });
    });
    const kept = memo.list(owner, 'pods', list);
    lists.set(namespace, kept);
    return kept;
  };
}

/** A change of a status or an annotation needs no new compile. */
function sameObject(a: TrafficMonitor | ClusterTrafficPolicy, b: TrafficMonitor | ClusterTrafficPolicy): boolean {
  const [m, n] = [a.metadata, b.metadata];
  return (
    m.uid === n.uid &&
    m.generation === n.generation &&
    m.creationTimestamp === n.creationTimestamp &&
    isDeepStrictEqual(a.spec, b.spec) &&
    isDeepStrictEqual(a.status?.lastAcceptedSpec, b.status?.lastAcceptedSpec)
  );
}

function byName(items: readonly NamedLabels[]): NamedLabels[] {
  return items.toSorted((a, b) => compareText(a.name, b.name));
}

/** By namespace, and within a namespace strongest first. */
function ranked(monitors: readonly MonitorInForce[], memo: Memo): readonly MonitorInForce[] {
  const groups = [...Map.groupBy(monitors, namespaceOf)].toSorted(([a], [b]) => compareText(a, b));
  const all = groups.flatMap(([namespace, members]) => {
    const given = members.toSorted((a, b) => compareText(a.key, b.key));
    const rank = (): MonitorInForce[] =>
      given.toSorted((a, b) =>
        compareMonitors({ metadata: a.object.metadata, spec: a.spec }, { metadata: b.object.metadata, spec: b.spec }),
      );
    return memo.cell(memo.owner(`namespace ${namespace}`), 'ranked', given, rank);
  });
  return memo.list(memo.owner('root'), 'monitors', all);
}

/** Matched pods of each monitor, sorted by name. */
function matchAll(
  monitors: readonly MonitorInForce[],
  podsOf: (namespace: string) => readonly PodFacts[],
  memo: Memo,
): Map<string, readonly PodFacts[]> {
  return new Map(
    monitors.map((m) => {
      const candidates = podsOf(namespaceOf(m));
      const match = (): readonly PodFacts[] =>
        matchPods(m.spec, candidates).sort((a, b) => compareText(a.name, b.name));
      const found = memo.cell(m, 'matched now', [candidates], match);
      // Another pod of the namespace came or went: an unchanged list keeps its identity.
      return [m.key, memo.list(m, 'matched', found)];
    }),
  );
}

/** Nodes under the same policies share one plan. */
function groupNodes(
  nodes: readonly NamedLabels[],
  policies: readonly PolicyInForce[],
  memo: Memo,
  plan: (covering: readonly PolicyInForce[], owner: object) => GroupPlan,
): Group[] {
  const groups = new Map<string, Group>();
  for (const node of nodes) {
    const covering = memo.cell(node, 'policies', [policies], () =>
      policies.filter((p) => matchesSelector(p.spec.nodeSelector, node.labels)),
    );
    const key = covering.map((p) => p.name).join('\n');
    let group = groups.get(key);
    if (!group) {
      const owner = memo.owner(`group ${key}`);
      const shared = memo.list(owner, 'policies', covering);
      groups.set(key, (group = { owner, policies: shared, plan: plan(shared, owner), nodes: [] }));
    }
    group.nodes.push(node);
  }
  return [...groups.values()];
}

interface NodeConfigInput {
  groups: readonly Group[];
  /** In the order of their rules. */
  monitors: readonly MonitorInForce[];
  matched: ReadonlyMap<string, readonly PodFacts[]>;
  generations: ReadonlyMap<string, number>;
  memo: Memo;
}

/** The config of every node. The part that a group shares is built, serialised and hashed once. */
function nodeConfigs(input: NodeConfigInput): [string, NodeConfig][] {
  const coverage = coverageOf(input);
  return input.groups.flatMap((group) => groupConfigs(group, coverage, input));
}

/** The monitors with pods on a node, and the names of these pods. */
type Coverage = ReadonlyMap<string, readonly { monitor: MonitorInForce; pods: readonly string[] }[]>;

function coverageOf({ monitors, matched, memo }: NodeConfigInput): Coverage {
  const coverage = new Map<string, { monitor: MonitorInForce; pods: readonly string[] }[]>();
  for (const monitor of monitors) {
    const pods = matched.get(monitor.key)!;
    const byNode = memo.cell(pods, 'by node', [], () => {
      const names = Map.groupBy(pods, (p) => p.nodeName);
      return new Map([...names].map(([node, list]) => [node, list.map((p) => p.name)]));
    });
    for (const [node, names] of byNode) {
      appendTo(coverage, node, { monitor, pods: memo.list(monitor, `pods on ${node}`, names) });
    }
  }
  return coverage;
}

interface Rule {
  rule: CaptureMonitorRule;
  text: string;
}

function groupConfigs(
  group: Group,
  coverage: Coverage,
  { monitors, generations, memo }: NodeConfigInput,
): [string, NodeConfig][] {
  const { plan, owner } = group;
  const refs = [
    ...group.policies.map((p) => `ClusterTrafficPolicy/${p.name}`),
    ...monitors.map((m) => `TrafficMonitor/${m.key}`),
  ];
  const shared = new ConfigEncoder({
    version: 1,
    instrument: { version: plan.version, yaml: plan.yaml },
    ...(plan.fallback.length > 0 ? { fallback: [...plan.fallback] } : {}),
    ...(plan.exports.length > 0 ? { exports: [...plan.exports] } : {}),
    limits: plan.limits,
    retention: plan.retention,
    ...(plan.redaction.length > 0 ? { redaction: [...plan.redaction] } : {}),
    ...(plan.histogram ? { histogram: plan.histogram } : {}),
    generations: Object.fromEntries(
      refs.flatMap((ref) => (generations.has(ref) ? [[ref, generations.get(ref)!]] : [])),
    ),
  });
  const encoder = memo.cell(owner, 'encoder', [shared.text], () => shared);
  const { canaryNodes, ...rollout } = memo.cell(owner, 'rollout', [group.policies], () => rolloutOf(group.policies));
  return group.nodes.map((node) => {
    const rules = (coverage.get(node.name) ?? []).flatMap(({ monitor, pods }): Rule[] => {
      const { rule } = plan.monitors.get(monitor.key)!;
      if (!rule) return [];
      return [
        memo.pair(rule, pods, 'rule', [], () => {
          const whole = { ...rule, pods: [...pods] };
          return { rule: whole, text: canonicalJson(whole) };
        }),
      ];
    });
    const make = (): NodeConfig => ({
      ...encoder.encodeRules(node.name, rules),
      yamlHash: plan.yamlHash,
      rollout: { ...rollout, canary: canaryNodes ? matchesSelector(canaryNodes, node.labels) : null },
    });
    return [node.name, memo.pair(owner, node, 'config', [encoder, group.policies, ...rules], make)];
  });
}
