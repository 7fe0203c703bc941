import {
  fileChanges,
  type CaptureConfig,
  type CompileResult,
  type NodeConfig,
  type RolloutRules,
} from '../../../capture/index.ts';
import { stringify } from 'yaml';
import { unifiedDiff } from '../../install/object-diff.ts';

/** Nodes whose config changes in the same lines. */
export interface NodeGroup {
  readonly nodes: readonly string[];
  /** The instrument's file, as a unified diff without its heading; empty when it is unchanged. */
  readonly instrument: readonly string[];
  /** The agent's own rules, as a diff of the same form. */
  readonly rules: readonly string[];
  /** Nodes whose instrument restarts. */
  readonly restarts: readonly string[];
  readonly rollout: RolloutRules | null;
  /** Nodes that get the file before the others. */
  readonly canaries: readonly string[];
}

/**
 * The changes per node between two compiles. Pure. `namespacesOn` gives the namespaces with a pod on a node: a file
 * that differs only in entries of other namespaces restarts nothing there.
 */
export function nodeChanges(
  before: CompileResult,
  after: CompileResult,
  namespacesOn: ReadonlyMap<string, ReadonlySet<string>>,
): NodeGroup[] {
  const names = [...new Set([...before.nodes.keys(), ...after.nodes.keys()])].toSorted();
  const texts = new TextDiffs();
  const groups = new Map<string, { nodes: string[]; restarts: string[]; canaries: string[]; first: Change }>();
  for (const node of names) {
    const change = texts.between(before.nodes.get(node), after.nodes.get(node));
    if (change.instrument.length === 0 && change.rules.length === 0) continue;
    const group = groups.get(change.key) ?? { nodes: [], restarts: [], canaries: [], first: change };
    groups.set(change.key, group);
    group.nodes.push(node);
    const canary = after.nodes.get(node)?.rollout.canary === true;
    if (canary) group.canaries.push(node);
    const here = namespacesOn.get(node) ?? new Set();
    const concerned = change.concerns === 'all' || [...change.concerns].some((name) => here.has(name));
    if (change.instrument.length > 0 && (concerned || canary)) group.restarts.push(node);
  }
  return [...groups.values()].map(({ nodes, restarts, canaries, first }) => ({
    nodes,
    instrument: first.instrument,
    rules: first.rules,
    restarts,
    canaries,
    rollout: first.rollout,
  }));
}

interface Change {
  key: string;
  instrument: readonly string[];
  rules: readonly string[];
  /** Namespaces whose entries of the file differ; `all` when the difference is not limited to such entries. */
  concerns: 'all' | ReadonlySet<string>;
  rollout: RolloutRules | null;
}

/** Diffs of texts, each computed once for all nodes. */
class TextDiffs {
  readonly #diffs = new Map<string, readonly string[]>();

  between(before: NodeConfig | undefined, after: NodeConfig | undefined): Change {
    const [a, b] = [before?.config.instrument.yaml ?? '', after?.config.instrument.yaml ?? ''];
    const instrument = this.#diff(a, b);
    const rules = this.#diff(rulesText(before?.config), rulesText(after?.config));
    const changes = instrument.length > 0 && a !== '' && b !== '' ? fileChanges(a, b) : null;
    const rollout = after?.rollout ?? before?.rollout ?? null;
    return {
      key: JSON.stringify([instrument, rules, rollout && { ...rollout, canary: null }]),
      instrument,
      rules,
      concerns: changes && !changes.general ? changes.namespaces : 'all',
      rollout,
    };
  }

  #diff(a: string, b: string): readonly string[] {
    if (a === b) return [];
    const key = `${a}\u0000${b}`;
    const known = this.#diffs.get(key) ?? unifiedDiff(a, b);
    this.#diffs.set(key, known);
    return known;
  }
}

/**
 * The agent's rules in readable form: monitors by name, without the pods, which differ from node to node, and without
 * generations, which change with every edit.
 */
function rulesText(config: CaptureConfig | undefined): string {
  if (!config) return '';
  const {
    version: _version,
    node: _node,
    instrument: _instrument,
    generations: _generations,
    monitors,
    ...rest
  } = config;
  const named = monitors.map(
    ({ namespace, name, uid: _uid, pods: _pods, ...rule }) => [`${namespace}/${name}`, rule] as const,
  );
  const sorted = named.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return stringify(
    { monitors: Object.fromEntries(sorted), ...rest },
    { lineWidth: 0, aliasDuplicateObjects: false, sortMapEntries: false },
  );
}
