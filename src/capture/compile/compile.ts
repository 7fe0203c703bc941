import type { CaptureMonitorRule } from '../capture-config.ts';
import { ConfigEncoder } from '../config-encoder.ts';
import { judgeMonitors, judgePolicies, objectRef } from './acceptance.ts';
import { planGroup, type GroupPlan, type MonitorInForce } from './group.ts';
import { monitorOutcomes, policyOutcomes, type Group } from './outcomes.ts';
import { matchPods } from './pods.ts';
import { compareMonitors, compareText, objectPath } from './precedence.ts';
import { rolloutOf } from './node-wide.ts';
import { matchesSelector } from './selector.ts';
import type { PolicyInForce } from './settings.ts';
import type { CompileInput, CompileResult, NamedLabels, NodeConfig, PodFacts } from './types.ts';

/**
 * Everything that the agents run and everything that the statuses say of it, from plain facts.
 * Pure: the same facts in any order give the same bytes. A bad object never fails the whole: it is represented by
 * its last accepted spec or left out, and its outcome says why.
 * Errors: ERR_CONFIG_INVALID for the environment (ports, instrument version).
 */
export function compile(input: CompileInput): CompileResult {
  const policies = judgePolicies(input.policies);
  const inForce: PolicyInForce[] = policies.flatMap((p) =>
    p.inForce ? [{ name: p.object.metadata.name ?? '', spec: p.inForce }] : [],
  );
  const namespaces = byName(input.namespaces);
  const nodes = byName(input.nodes);
  const judged = judgeMonitors(input.monitors, inForce, namespaces);
  const monitors = judged
    .flatMap((m): MonitorInForce[] =>
      m.inForce ? [{ key: objectPath(m.object.metadata), object: m.object, spec: m.inForce }] : [],
    )
    .toSorted(
      (a, b) =>
        compareText(a.object.metadata.namespace ?? '', b.object.metadata.namespace ?? '') ||
        compareMonitors({ metadata: a.object.metadata, spec: a.spec }, { metadata: b.object.metadata, spec: b.spec }),
    );
  const matched = matchAll(monitors, input.pods);
  const groups = groupNodes(nodes, inForce, (covering) =>
    planGroup({ environment: input.environment, policies: covering, namespaces, monitors }),
  );
  const generations = new Map(
    [...policies, ...judged]
      .filter((o) => o.accepted.ok)
      .map(({ object }) => [objectRef(object), object.metadata.generation ?? 0] as const),
  );
  const coverage = coverageOf(monitors, matched);
  const configs = groups.flatMap((group) => nodeConfigs(group, monitors, coverage, generations));
  const outcomes = monitorOutcomes(judged, monitors, matched, groups);
  return {
    nodes: new Map(configs.toSorted(([a], [b]) => compareText(a, b))),
    monitors: outcomes,
    policies: policyOutcomes(policies, outcomes, groups),
  };
}

function byName(items: readonly NamedLabels[]): NamedLabels[] {
  return items.toSorted((a, b) => compareText(a.name, b.name));
}

/** Matched pods of each monitor, sorted by name. */
function matchAll(monitors: readonly MonitorInForce[], pods: readonly PodFacts[]): Map<string, PodFacts[]> {
  const byNamespace = new Map<string, PodFacts[]>();
  for (const pod of pods) {
    const list = byNamespace.get(pod.namespace);
    if (list) list.push(pod);
    else byNamespace.set(pod.namespace, [pod]);
  }
  return new Map(
    monitors.map((m) => {
      const found = matchPods(m.spec, byNamespace.get(m.object.metadata.namespace ?? '') ?? []);
      return [m.key, found.sort((a, b) => compareText(a.name, b.name))];
    }),
  );
}

/** Nodes under the same policies share one plan. */
function groupNodes(
  nodes: readonly NamedLabels[],
  policies: readonly PolicyInForce[],
  plan: (covering: readonly PolicyInForce[]) => GroupPlan,
): Group[] {
  const groups = new Map<string, Group>();
  for (const node of nodes) {
    const covering = policies.filter((p) => matchesSelector(p.spec.nodeSelector, node.labels));
    const key = covering.map((p) => p.name).join('\n');
    const group = groups.get(key) ?? { policies: covering, plan: plan(covering), nodes: [] };
    group.nodes.push(node);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Node → index of a monitor → names of its pods there, in the order of both. */
type Coverage = ReadonlyMap<string, ReadonlyMap<number, string[]>>;

function coverageOf(monitors: readonly MonitorInForce[], matched: ReadonlyMap<string, readonly PodFacts[]>): Coverage {
  const coverage = new Map<string, Map<number, string[]>>();
  for (const [index, m] of monitors.entries()) {
    for (const pod of matched.get(m.key)!) {
      let onNode = coverage.get(pod.nodeName);
      if (!onNode) coverage.set(pod.nodeName, (onNode = new Map<number, string[]>()));
      const names = onNode.get(index);
      if (names) names.push(pod.name);
      else onNode.set(index, [pod.name]);
    }
  }
  return coverage;
}

/** The configs of one group: what they share is put together, written and hashed once. */
function nodeConfigs(
  group: Group,
  monitors: readonly MonitorInForce[],
  coverage: Coverage,
  generations: ReadonlyMap<string, number>,
): [string, NodeConfig][] {
  const { plan } = group;
  const refs = [
    ...group.policies.map((p) => `ClusterTrafficPolicy/${p.name}`),
    ...monitors.map((m) => `TrafficMonitor/${m.key}`),
  ];
  const encoder = new ConfigEncoder({
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
  const { canaryNodes, ...rollout } = rolloutOf(group.policies);
  return group.nodes.map((node) => [
    node.name,
    {
      ...encoder.encode({ node: node.name, monitors: rulesOf(plan, monitors, coverage.get(node.name)) }),
      yamlHash: plan.yamlHash,
      rollout: { ...rollout, canary: canaryNodes ? matchesSelector(canaryNodes, node.labels) : null },
    },
  ]);
}

function rulesOf(
  plan: GroupPlan,
  monitors: readonly MonitorInForce[],
  onNode: ReadonlyMap<number, string[]> | undefined,
): CaptureMonitorRule[] {
  return [...(onNode ?? [])].flatMap(([index, pods]) => {
    const rule = plan.monitors.get(monitors[index]!.key)!.rule;
    return rule ? [{ ...rule, pods }] : [];
  });
}
