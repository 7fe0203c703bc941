import { compareText } from '../../base/text/texts.ts';
import type { ClusterTrafficPolicy, TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { someMeta } from '../../api/meta.ts';
import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import { appendTo } from '../../base/collections/counts.ts';
import type { CaptureMonitorRule } from '../capture-config.ts';
import { ConfigEncoder, type SharedConfig } from '../config-encoder.ts';
import { judgeMonitors, judgePolicies, policiesInForce, type Judged } from './check/acceptance.ts';
import {
  generationsOf,
  planGroup,
  planMonitors,
  planShare,
  type Group,
  type GroupPlan,
  type MonitorInForce,
  type MonitorPlan,
  type NamespaceMonitors,
  type NamespacePlan,
} from './group.ts';
import { monitorOutcomes, policyOutcomes } from './outcomes.ts';
import { matchPods } from './select/pods.ts';
import { compareMonitors, objectPath } from './select/precedence.ts';
import { baseScopes } from './select/scope.ts';
import { matchesSelector } from './select/selector.ts';
import { Step } from './step.ts';
import type {
  CompileEnvironment,
  CompileInput,
  CompileResult,
  MonitorOutcome,
  NamedLabels,
  NodeConfig,
  PodFacts,
} from './types.ts';
import { rulesOfUnsent } from './unsent.ts';

/**
 * Compiles plain facts into the configs that the agents run and the outcomes that the statuses report.
 * Pure: the same facts in any order give the same bytes. An invalid object never fails the whole compile: it is
 * represented by its last accepted spec or left out, and its outcome says why.
 * Errors: ERR_CONFIG_INVALID for the environment (ports, instrument version).
 */
export function compile(input: CompileInput): CompileResult {
  return new Compiler().compile(input);
}

/**
 * `compile` for facts that change little by little: a step of the compile runs again only when its arguments have
 * changed, and an outcome or a config that equals the last one is the same object. After an edit of a monitor, two things
 * run again in each group of nodes: the steps of the monitor's namespace, and the one that renders the group's YAML file.
 */
export class Compiler {
  readonly #policies = new Step(judgePolicies);
  readonly #monitors = new Step(judgeNamespace);
  readonly #matched = new Step(matchNamespace);
  readonly #grouping = new Step(groupNodes);
  readonly #groups = new Step(() => new GroupCompiler());
  readonly #rules = new Step(nodeRules);
  readonly #configs = new Step(nodeConfig);
  readonly #outcomes = new Step(monitorOutcomes);
  readonly #outcome = new Step((outcome: MonitorOutcome) => outcome);

  compile({ environment, ...input }: CompileInput): CompileResult {
    const policies = this.#policies.one(input.policies.map(facts), environment);
    const [namespaces, nodes] = [byName(input.namespaces), byName(input.nodes)];
    const given = Map.groupBy(input.monitors.map(facts), (m) => m.metadata.namespace ?? '');
    const monitors = this.#monitors.each(
      [...given].toSorted(([a], [b]) => compareText(a, b)),
      (own, name) => [policies, namespaces.get(name) ?? { name, labels: {} }, own],
    );
    const pods = Map.groupBy(input.pods, (pod) => pod.namespace);
    const departed = Map.groupBy(input.departed ?? [], (pod) => pod.namespace);
    const matched = this.#matched.each(monitors, ({ inForce }, name) => [
      inForce,
      pods.get(name) ?? [],
      departed.get(name) ?? [],
    ]);

    const { groups, groupOf } = this.#grouping.one(policies, [...nodes.values()]);
    const compilers = this.#groups.each(groups, () => []);
    const compiled = [...groups].map(([key, group]) =>
      compilers.get(key)!.compile(environment, group, [...namespaces.values()], monitors),
    );
    const rules = this.#rules.each(coverageOf(matched, groupOf, compiled, input.unsent), (covered) => [covered]);
    const configs = this.#configs.each(nodes, (node, name) => {
      const { encoder, yamlHash, rollout } = compiled[groupOf.get(name)!]!;
      return [{ encoder, yamlHash, rollout, node, rules: rules.get(name)! }];
    });
    const found = this.#outcomes.each(monitors, (own, name) => {
      const plans = compiled.map((group) => group.plans.get(name)!);
      return [{ monitors: own, matched: matched.get(name)!.byMonitor, groupOf, plans }];
    });
    const outcomes = this.#outcome.each([...found.values()].flat(), (outcome) => [outcome]);
    const judged = policyOutcomes(policies, outcomes, compiled, namespaces);
    return { nodes: configs, monitors: outcomes, policies: judged };
  }
}

interface CompiledGroup extends Group, GroupPlan {
  encoder: ConfigEncoder;
  /** By namespace. */
  plans: ReadonlyMap<string, NamespacePlan>;
  /** Hash of what the agents of the group are sent, without generations and without names of nodes and pods. */
  digest: string;
}

/** The steps for one group of nodes. */
class GroupCompiler {
  readonly #scopes = new Step(baseScopes);
  readonly #shares = new Step(planShare);
  readonly #plan = new Step(planGroup);
  readonly #encoder = new Step((shared: SharedConfig) => new ConfigEncoder(shared));
  readonly #plans = new Step(planMonitors);
  readonly #digest = new Step((digests: readonly string[]) => sha256Hex(digests.join()));

  compile(
    environment: CompileEnvironment,
    group: Group,
    namespaces: readonly NamedLabels[],
    monitors: ReadonlyMap<string, NamespaceMonitors>,
  ): CompiledGroup {
    const { policies, generations } = group;
    const scopes = this.#scopes.one(policies, namespaces, environment);
    const shares = this.#shares.each(monitors, (own) => [policies, own, environment]);
    const members = [...shares.values()];
    const plan = this.#plan.one({ environment, policies, generations, namespaces, scopes, shares: members });
    const plans = this.#plans.each(shares, (share) => [share, plan.common]);
    const digest = this.#digest.one([plan.sharedDigest, ...[...plans.values()].flatMap((own) => own.digest ?? [])]);
    return { ...group, ...plan, encoder: this.#encoder.one(plan.shared), plans, digest };
  }
}

/**
 * The parts of an object that a compile reads. Changes of other parts, such as a condition or an annotation, run no
 * step.
 */
function facts<T extends TrafficMonitor | ClusterTrafficPolicy>(object: T): T {
  const metadata = someMeta(object.metadata, 'namespace', 'name', 'uid', 'generation', 'creationTimestamp');
  return { ...object, metadata, status: { lastAcceptedSpec: object.status?.lastAcceptedSpec } };
}

function byName(items: readonly NamedLabels[]): Map<string, NamedLabels> {
  return new Map(items.toSorted((a, b) => compareText(a.name, b.name)).map((item) => [item.name, item]));
}

function judgeNamespace(
  policies: readonly Judged<ClusterTrafficPolicy>[],
  namespace: NamedLabels,
  monitors: readonly TrafficMonitor[],
): NamespaceMonitors {
  const judged = judgeMonitors(monitors, policiesInForce(policies), [namespace]);
  const inForce = judged.flatMap(({ object, inForce: spec }): MonitorInForce[] =>
    spec ? [{ key: objectPath(object.metadata), object, spec }] : [],
  );
  return {
    namespace,
    judged,
    inForce: inForce.toSorted((a, b) =>
      compareMonitors({ metadata: a.object.metadata, spec: a.spec }, { metadata: b.object.metadata, spec: b.spec }),
    ),
  };
}

/** The pods that the monitors of a namespace match, sorted by name. */
interface Matched {
  byMonitor: ReadonlyMap<string, readonly PodFacts[]>;
  /** The monitors with pods on a node, strongest first, and the names of these pods; departed pods are among them. */
  byNode: ReadonlyMap<string, readonly { key: string; pods: readonly string[] }[]>;
}

function matchNamespace(
  monitors: readonly MonitorInForce[],
  pods: readonly PodFacts[],
  departed: readonly PodFacts[],
): Matched {
  const sorted = pods.toSorted((a, b) => compareText(a.name, b.name));
  const byMonitor = new Map(monitors.map((m) => [m.key, matchPods(m.spec, sorted)]));
  const byNode = new Map<string, { key: string; pods: string[] }[]>();
  for (const { key, spec } of monitors) {
    const ruled = [...byMonitor.get(key)!, ...matchPods(spec, departed)];
    for (const [node, own] of Map.groupBy(ruled, (pod) => pod.nodeName)) {
      appendTo(byNode, node, { key, pods: own.map((pod) => pod.name).toSorted(compareText) });
    }
  }
  return { byMonitor, byNode };
}

/** Nodes under the same policies are one group. `groupOf` maps each node to the position of its group. */
function groupNodes(
  policies: readonly Judged<ClusterTrafficPolicy>[],
  nodes: readonly NamedLabels[],
): { groups: ReadonlyMap<string, Group>; groupOf: ReadonlyMap<string, number> } {
  const placed = nodes.map((node) => {
    const covering = policies.filter((p) => p.inForce && matchesSelector(p.inForce.nodeSelector, node.labels));
    return { node, covering, key: covering.map((p) => objectPath(p.object.metadata)).join('\n') };
  });
  const byKey = [...Map.groupBy(placed, ({ key }) => key)];
  const groups = byKey.map(([key, members]) => {
    const { covering } = members[0]!;
    const group: Group = {
      policies: policiesInForce(covering),
      generations: generationsOf(covering),
      nodes: members.map(({ node }) => node),
    };
    return [key, group] as const;
  });
  const groupOf = byKey.flatMap(([, members], at) => members.map(({ node }) => [node.name, at] as const));
  return { groups: new Map(groups), groupOf: new Map(groupOf) };
}

/** The rules of a monitor on one node, and the names of its pods there. */
type Covered = readonly [rule: NonNullable<MonitorPlan['rule']>, pods: readonly string[]];

/** Each node's rules, in the order of the namespaces. After them, those that only keep destinations with unsent data. */
function coverageOf(
  matched: ReadonlyMap<string, Matched>,
  groupOf: ReadonlyMap<string, number>,
  groups: readonly CompiledGroup[],
  unsent: CompileInput['unsent'] = new Map(),
): Map<string, Covered[]> {
  const coverage = new Map([...groupOf.keys()].map((node) => [node, [] as Covered[]]));
  for (const [namespace, { byNode }] of matched) {
    for (const [node, monitors] of byNode) {
      const covered = coverage.get(node);
      if (!covered) continue;
      const plan = groups[groupOf.get(node)!]!.plans.get(namespace)!;
      for (const { key, pods } of monitors) {
        const { rule } = plan.monitors.get(key)!;
        if (rule) covered.push([rule, pods]);
      }
    }
  }
  for (const [node, rows] of unsent) {
    const covered = coverage.get(node);
    if (!covered) continue;
    const { plans } = groups[groupOf.get(node)!]!;
    const keys = new Set(covered.map(([{ namespace, name }]) => `${namespace}/${name}`));
    const planOf = (key: string): MonitorPlan | undefined =>
      plans.get(key.slice(0, key.indexOf('/')))?.monitors.get(key);
    for (const rule of rulesOfUnsent(rows, keys, planOf)) covered.push([rule, []]);
  }
  return coverage;
}

interface Rule {
  rule: CaptureMonitorRule;
  text: string;
}

function nodeRules(covered: readonly Covered[]): Rule[] {
  return covered.map(([rule, pods]) => {
    const whole = { ...rule, pods: [...pods] };
    return { rule: whole, text: canonicalJson(whole) };
  });
}

interface NodeInput extends Pick<CompiledGroup, 'encoder' | 'yamlHash' | 'rollout'> {
  node: NamedLabels;
  rules: readonly Rule[];
}

/** The config of a node. The part that its group shares is built, serialised and hashed once. */
function nodeConfig({ encoder, yamlHash, rollout: { canaryNodes, ...rollout }, node, rules }: NodeInput): NodeConfig {
  return {
    ...encoder.encode(node.name, rules),
    yamlHash,
    rollout: { ...rollout, canary: canaryNodes ? matchesSelector(canaryNodes, node.labels) : null },
  };
}
