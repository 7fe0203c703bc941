import { canonicalJson } from '../../base/canonical-json.ts';
import type { CaptureMonitorRule } from '../capture-config.ts';
import { ConfigEncoder } from '../config-encoder.ts';
import type { MonitorInForce } from './group.ts';
import type { Memo } from './memo.ts';
import { rolloutOf } from './node-wide.ts';
import type { Group } from './outcomes.ts';
import { matchesSelector } from './select/selector.ts';
import type { NodeConfig, PodFacts } from './types.ts';

export interface NodeConfigInput {
  groups: readonly Group[];
  /** In the order of their rules. */
  monitors: readonly MonitorInForce[];
  matched: ReadonlyMap<string, readonly PodFacts[]>;
  generations: ReadonlyMap<string, number>;
  memo: Memo;
}

/** The config of every node. The part that a group shares is built, serialised and hashed once. */
export function nodeConfigs(input: NodeConfigInput): [string, NodeConfig][] {
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
      const list = coverage.get(node);
      const row = { monitor, pods: memo.list(monitor, `pods on ${node}`, names) };
      if (list) list.push(row);
      else coverage.set(node, [row]);
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
