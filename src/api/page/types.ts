/**
 * Answers of the query server that its page reads: the `data` of `/api/v1/topology`, `/api/v1/services`,
 * `/api/v1/objects` and `/api/v1/explain`. They come in the same envelope as all answers of the query server (`status`,
 * `warnings`, `infos`, `degraded`, `missingNodes`).
 * Types alone, without imports, so that the page takes them as they are.
 */

/** Numbers of what goes over a connection, or into and out of a node, in the window. null: not known. */
export interface Stats {
  /** Requests per second. */
  readonly requestRate: number | null;
  /** Share of the requests that failed, 0 to 1: HTTP status 5xx, gRPC status other than OK. null without requests. */
  readonly errorShare: number | null;
  /** Median duration of the requests. Unit: ms. */
  readonly p50Ms: number | null;
  /** 95th percentile of the durations. Unit: ms. */
  readonly p95Ms: number | null;
  /** 99th percentile of the durations. Unit: ms. */
  readonly p99Ms: number | null;
  /** Bytes per second from source to target; of the edges of a node, in the direction of the requests. */
  readonly bytesPerSecond: number | null;
  /** Bytes per second from target back to source. */
  readonly bytesBackPerSecond: number | null;
}

/** What the nodes of a topology stand for. */
export type TopologyGrouping = 'workload' | 'namespace' | 'node';

/**
 * `workload`, `namespace` and `node` are in the cluster; `service` is a Service whose pods are not known to have taken
 * the traffic; `external` is outside; `unknown` is what nothing names, or what the caller may not see.
 */
export type TopologyNodeKind = 'workload' | 'service' | 'namespace' | 'node' | 'external' | 'unknown';

/** Where the numbers of an edge come from: durations of requests, bytes of network flows. */
export type EdgeSource = 'requests' | 'flows';

export interface TopologyNode {
  /** Stable from one answer to the next for the same grouping: keys and links may hold it. */
  readonly id: string;
  readonly kind: TopologyNodeKind;
  /** Namespace of a workload or Service, the name itself of a namespace; otherwise empty. */
  readonly namespace: string;
  /**
   * Name of the workload, Service, namespace or node; of what is outside, its address block (`203.0.113.0/24`) or the
   * name that a policy gives it.
   */
  readonly name: string;
  /** Kind of the workload's owner, such as `Deployment`; empty for all else. */
  readonly workloadKind: string;
  /** The node, where all pods seen ran on one. */
  readonly node?: string;
  /** Over all edges that end here. */
  readonly inbound: Stats;
  /** Over all edges that begin here. */
  readonly outbound: Stats;
}

/** PromQL that gives the numbers of an edge, evaluated at the end of the window. Absent: no such number. */
export interface EdgePromql {
  /** Requests per second. */
  readonly requestRate?: string;
  /** Share of failed requests, 0 to 1. */
  readonly errorShare?: string;
  /** 99th percentile of the durations. Unit: s, as the series have it. */
  readonly p99?: string;
  /** Bytes per second from source to target. */
  readonly bytes?: string;
}

export interface TopologyEdge {
  /** Stable from one answer to the next for the same grouping. */
  readonly id: string;
  /** `id` of the node that asks. */
  readonly source: string;
  /** `id` of the node that answers. */
  readonly target: string;
  /** In lower case: `http`, `grpc`, `sql`, `redis`, `kafka` …; `tcp` or `udp` where only flows were seen. */
  readonly protocol: string;
  /** Which data says so; never empty. */
  readonly sources: readonly EdgeSource[];
  /** As the source's side measured; as the target's where the source is not captured. */
  readonly stats: Stats;
  readonly promql: EdgePromql;
}

/** `data` of `/api/v1/topology`. */
export interface Topology {
  /** Unit: ms since the epoch. */
  readonly window: { readonly startMs: number; readonly endMs: number };
  readonly by: TopologyGrouping;
  /** In order of `id`. */
  readonly nodes: readonly TopologyNode[];
  /** In order of `id`. */
  readonly edges: readonly TopologyEdge[];
}

/** One point every `stepSeconds`, the last at the end of the window. null: not known. */
export interface Sparkline {
  /** Unit: s. */
  readonly stepSeconds: number;
  /** Requests per second. */
  readonly requestRate: readonly (number | null)[];
  /** Share of failed requests, 0 to 1. */
  readonly errorShare: readonly (number | null)[];
}

/** One workload of `/api/v1/services`, whose `data` is a list of them by namespace and name. */
export interface ServiceSummary {
  readonly namespace: string;
  readonly workload: string;
  /** Kind of the owner, such as `Deployment`; `Pod` for a pod without one. */
  readonly workloadKind: string;
  /** Names of the nodes that its pods run on, sorted. */
  readonly nodes: readonly string[];
  /** Requests per second that it answered. */
  readonly requestRate: number | null;
  /** Share of failed requests, 0 to 1. */
  readonly errorShare: number | null;
  /** Unit: ms. */
  readonly p50Ms: number | null;
  /** Unit: ms. */
  readonly p99Ms: number | null;
  readonly sparkline: Sparkline;
  /**
   * Names of the TrafficMonitors of its namespace that select its pods, sorted. null: not known, as to a caller who may
   * not list the TrafficMonitors of the namespace.
   */
  readonly monitors: readonly string[] | null;
  /** Whether requests or flows of its pods were seen in the window. */
  readonly captured: boolean;
  /** Why nothing is captured, as a sentence; null where something is. */
  readonly why: string | null;
}

/** One question on the way from the objects to the data of a pod, as `kubectl svc explain` puts it. */
export interface ExplainStep {
  readonly asks: string;
  readonly answer: 'yes' | 'no' | 'note' | 'unknown';
  /** The fact that answers it. */
  readonly fact: string;
  /** How to resolve it; present for every `no`. */
  readonly way?: string;
}

/** Why one pod is captured or not. */
export interface PodExplanation {
  readonly pod: string;
  readonly node: string;
  /** In order: the first `no` is what stands in the way. */
  readonly steps: readonly ExplainStep[];
}

/** `data` of `/api/v1/explain`: what holds for a workload's pods, and which object each part comes from. */
export interface WorkloadExplanation {
  /** By name, at most 50. */
  readonly pods: readonly PodExplanation[];
  /**
   * The settings that are the same for all its pods. If the built-in default means "all", "none" or the node's setting,
   * the value is null.
   */
  readonly settings: readonly { readonly path: string; readonly value: unknown; readonly from: string }[];
  /** The operator's flags that decide where no policy does, as it passed them on to the query server. */
  readonly operator: {
    readonly instrumentVersion: string;
    readonly instrumentPorts: string;
    readonly allowExtraConfig: boolean;
  };
}

/** Kinds that `/api/v1/objects` shows. */
export type ObjectKind = 'TrafficMonitor' | 'ClusterTrafficPolicy' | 'MinterDeployment' | 'Node';

/** A condition as the Kubernetes API has it. */
export interface ObjectCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** Whether this status says that all is well: some conditions are good when False. */
  readonly good: boolean;
  /** RFC 3339; absent where the object has none. */
  readonly lastTransitionTime?: string;
  /** Generation of the spec that the condition is about. */
  readonly observedGeneration?: number;
}

/** What an agent says about itself, as `kubectl svc status` shows it. null: not known; the agent may not answer. */
export interface NodeReport {
  /** Why the node has no agent that answers, as a sentence; null where it has one. */
  readonly missing: string | null;
  /** Version of the agent. */
  readonly agentVersion: string | null;
  /** Version of the instrument. */
  readonly instrumentVersion: string | null;
  /** How far the capture configuration is: `Received`, `Written`, `Running` or `Failed`. */
  readonly phase: string | null;
  /** SHA-256 of the configuration that the node has. */
  readonly configHash: string | null;
  /** Starts of the instrument after its first. */
  readonly instrumentRestarts: number | null;
  readonly instrumentUp: boolean | null;
  /** TrafficMonitors that the node does not run, and why, as far as the caller may list them. */
  readonly notCaptured: readonly { readonly namespace: string; readonly monitor: string; readonly reason: string }[];
  /** Resident memory of the instrument. Unit: bytes. */
  readonly instrumentMemoryBytes: number | null;
  /** Resident memory of the agent. Unit: bytes. */
  readonly agentMemoryBytes: number | null;
  /** Captured series that are alive now. */
  readonly seriesActive: number | null;
  /** Most series that the node may have. */
  readonly seriesLimit: number | null;
  /** Series that went beyond a limit since the agent started. */
  readonly seriesLimitHits: number | null;
  /** How far the node's clock is at least ahead of the query server's (negative: behind). Unit: ms. */
  readonly clockOffsetMs: number | null;
  /** End of the agent certificate's life. Unit: ms since the epoch. */
  readonly certificateEndMs: number | null;
}

export interface ObjectItem {
  readonly metadata: {
    readonly name: string;
    /** Empty for kinds without namespaces. */
    readonly namespace: string;
    readonly generation: number;
    /** RFC 3339. */
    readonly creationTimestamp?: string;
  };
  /** As the API server has it; empty for a Node. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly conditions: readonly ObjectCondition[];
  /** The rest of the status as the API server has it, without conditions; empty for a Node. */
  readonly status: Readonly<Record<string, unknown>>;
  /** Only for a Node. */
  readonly node?: NodeReport;
}

/** `data` of `/api/v1/objects`. */
export interface Objects {
  readonly kind: ObjectKind;
  /** Whether the caller may not see all objects of the kind: those it may not see are absent. */
  readonly forbidden: boolean;
  /** By namespace and name. */
  readonly items: readonly ObjectItem[];
}
