import type {
  ClusterTrafficPolicy,
  ClusterTrafficPolicySpec,
  TrafficMonitor,
  TrafficMonitorSpec,
} from '../../api/v1alpha1/index.ts';
import type { CaptureConfig } from '../capture-config.ts';
import type { InstrumentEnvironment } from '../instrument-yaml/builtin.ts';

/** The inputs of a compile: plain facts, in any order. The result depends on nothing else. */
export interface CompileInput {
  environment: CompileEnvironment;
  policies: readonly ClusterTrafficPolicy[];
  monitors: readonly TrafficMonitor[];
  namespaces: readonly NamedLabels[];
  /** Nodes that have, or should have, an agent. */
  nodes: readonly NamedLabels[];
  pods: readonly PodFacts[];
  /**
   * Pods that were deleted or have ended lately, default none. The rules of their nodes name them, because their last
   * data comes later. No status counts them.
   */
  departed?: readonly PodFacts[];
  /**
   * The destinations that nodes have unsent data for, by node. Such a destination of a monitor stays in the config of a
   * node without a pod of the monitor, for as long as the monitor has it. Default: none.
   */
  unsent?: ReadonlyMap<string, readonly UnsentExport[]>;
}

/** `owner` is `ClusterTrafficPolicy/<name>` or `TrafficMonitor/<namespace>/<name>`, `name` that of its destination. */
export interface UnsentExport {
  readonly owner: string;
  readonly name: string;
}

export interface CompileEnvironment extends InstrumentEnvironment {
  /** The ports of nodes for which no policy sets `capture.ports`: the operator's `--obi-instrument-ports`. */
  ports: string;
  /** Whether policies may add further keys to the instrument's file. Default no. */
  allowExtraConfig?: boolean;
}

export interface NamedLabels {
  name: string;
  labels: Readonly<Record<string, string>>;
}

/** A scheduled pod that has not ended. */
export interface PodFacts {
  namespace: string;
  name: string;
  labels: Readonly<Record<string, string>>;
  nodeName: string;
  /** The controlling owner reference. */
  owner?: { kind: string; name: string };
  containers: readonly string[];
}

/** One fault of an object: the reason for its Accepted condition and a sentence that begins with the field. */
export interface Finding<Reason extends string = string> {
  reason: Reason;
  message: string;
}

export type MonitorFinding = Finding<'Invalid' | 'UnsupportedSelector' | 'UnsafeSelector' | 'NamespaceNotAllowed'>;
export type PolicyFinding = Finding<'Invalid' | 'ExtraConfigNotAllowed'>;

/** The outcome of one member of a monitor's `export`. */
export interface ExportOutcome {
  name: string;
  host: string;
  /** False when no policy's allow list contains the host: nothing is sent. */
  allowed: boolean;
  /** `<namespace>/<name>/<key>` of the Secret that it refers to. */
  secret?: string;
}

/** The outcome of the compile for one monitor. */
export interface MonitorOutcome {
  namespace: string;
  name: string;
  uid: string;
  generation: number;
  accepted: { ok: boolean; reason: string; message: string };
  /** The spec that is in force: the object's own, its last accepted one, or none. */
  inForce: TrafficMonitorSpec | null;
  matchedPods: number;
  /** The matched pods of which no process is captured, because of an exclusion; absent when there is none. */
  excluded?: {
    pods: number;
    /** What excludes them, one for each pod, as `NamedExclusion` names it; sorted. */
    by: readonly string[];
  };
  /** Nodes with at least one matched pod, sorted. */
  nodes: readonly string[];
  /** Hash of this object's contribution, without node and pod names; absent when no spec is in force. */
  configHash?: string;
  suspended: boolean;
  /** A policy that pauses it; present only when it is paused on all of its nodes. */
  pausedBy?: string;
  policyRefs: readonly string[];
  overriddenFields: readonly string[];
  conflicts: readonly Conflict[];
  /** Its destinations. A destination counts as allowed only if it is allowed on every node. */
  exports: readonly ExportOutcome[];
  /** The longest interval, over its nodes, between two samples of a pod with traffic. Units: ms. */
  intervalMs: number;
}

export interface Conflict {
  /** `TrafficMonitor/<namespace>/<name>` or `ClusterTrafficPolicy/<name>`. */
  with: string;
  fields: string[];
  resolution: string;
}

/** Whether a node captures flows, and the reason when it does not. */
export type FlowsState = 'Enabled' | 'NotEnabled' | 'SwitchedOff' | 'Paused';

/** The outcome of the compile for one policy. */
export interface PolicyOutcome {
  name: string;
  uid: string;
  generation: number;
  accepted: { ok: boolean; reason: string; message: string };
  inForce: ClusterTrafficPolicySpec | null;
  /** Nodes in its scope, sorted. */
  nodes: readonly string[];
  configHash?: string;
  /**
   * Whether the nodes in its scope capture flows; `PartlyEnabled` when only some do, `NoNodes` when it is on none,
   * `NotInForce` when no spec of it was ever accepted.
   */
  flows: FlowsState | 'PartlyEnabled' | 'NoNodes' | 'NotInForce';
  monitors: { accepted: number; rejected: number; conflicted: number };
}

export interface NodeConfig {
  config: CaptureConfig;
  hash: string;
  /** Its canonical JSON, built when needed. */
  json: () => string;
  /** The same JSON as UTF-8, in pieces; see `ConfigEncoder`. */
  pieces: () => readonly Uint8Array[];
  /** The instrument has to restart exactly when this changes. */
  yamlHash: string;
  rollout: RolloutRules;
}

/** How changes are rolled out to this node, merged from all of its policies. Units: ms. */
export interface RolloutRules {
  /** Identifies the nodes that share these rules. */
  group: string;
  /** A count, or a share such as `10%`. */
  maxUnavailable: number | string;
  minIntervalMs: number;
  pauseOnFailure: boolean;
  /** True when the rules have canary nodes and this is one of them; null without canary nodes. */
  canary: boolean | null;
}

export interface CompileResult {
  nodes: ReadonlyMap<string, NodeConfig>;
  /** Keyed `<namespace>/<name>`. */
  monitors: ReadonlyMap<string, MonitorOutcome>;
  policies: ReadonlyMap<string, PolicyOutcome>;
}
