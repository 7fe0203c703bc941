import type { MinterDeployment } from '../api/v1alpha1/index.ts';
import type { AdmissionMode } from './admission.ts';
import type { QueryOptions } from './query-options.ts';

/** Inputs of the renderers: plain data, every value explicit. Equal inputs give equal objects. */

export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A service account, as a subject of a binding. */
export interface ServiceAccountRef {
  namespace: string;
  name: string;
}

/**
 * Whether captured metrics are offered to autoscalers as `custom.metrics.k8s.io`. `auto` registers the API unless
 * another server has it; `force` takes it over; `off` serves and registers nothing.
 */
export type CustomMetricsMode = 'auto' | 'force' | 'off';
/**
 * The rights of the instrument's container: the capabilities that its own check requires, these and `SYS_ADMIN`, or
 * all capabilities that exist. ADR 25 lists which feature needs which.
 */
export type InstrumentPrivileges = (typeof instrumentPrivileges)[number];
export const instrumentPrivileges = ['capabilities', 'sys-admin', 'privileged'] as const;

export const customMetricsModes: readonly CustomMetricsMode[] = ['auto', 'force', 'off'];

/** Default of `customMetrics`. */
export const defaultCustomMetricsMode: CustomMetricsMode = 'auto';

/** The inputs that the operator's own installation and the objects of agents and query server share. */
interface CommonInput {
  /** The operator's own namespace; every namespaced object is created there. */
  namespace: string;
  /** Image of agent and query. */
  svcImage: string;
  /** The eBPF instrument's image. Its tag is also the version that the configuration is written for. */
  instrumentImage: string;
  /** The instrument's version if the image has no tag with the version, e.g. `v0.10.0`. */
  instrumentVersion?: string;
  /** Path of the instrument's program in its image, if it differs from upstream's. */
  instrumentProgram?: string;
  /** Default: `capabilities`. */
  instrumentPrivileges?: InstrumentPrivileges;
  /** Left out of the manifests unless set, so that the cluster's default applies. */
  imagePullPolicy?: PullPolicy;
  /** Secrets in the namespace that hold registry credentials. */
  imagePullSecrets?: readonly string[];
  /** Ports that are captured while no policy exists, e.g. `80,443,8080,8443`. */
  instrumentPorts: string;
  /** Folder on the node for the agent's store; empty means an emptyDir that ends with the pod. */
  agentDataHostPath: string;
  logLevel: LogLevel;
  /** The managed collector: it is authorised to scrape, and its namespace may reach the scrape port. */
  collector: ServiceAccountRef;
  /** Address ranges of API servers: only they may reach the custom metrics port. Without ranges, any address may. */
  apiServerCidrs?: readonly string[];
}

/** The inputs of the objects of agents and query server. */
export interface PlatformInput extends CommonInput {
  /** Whether policies may add further keys to the instrument's file. Default: no. */
  allowExtraConfig?: boolean;
  /** Minor version of Kubernetes, such as 29 of 1.29; undefined stands for the newest. */
  kubernetesMinor?: number | undefined;
  /** True when flows are captured: the instrument then needs the host's network, and NET_ADMIN for traffic control. */
  hostNetwork: boolean;
  /** Agent pods that may be replaced at a time, a number or a percentage. */
  agentMaxUnavailable: number | string;
  /** Replicas of svc-query; undefined leaves the field to an autoscaler. */
  queryReplicas?: number;
  /** The certificates that clients of our servers trust, PEM; published as a ConfigMap. Undefined before any exist. */
  caBundle?: string;
  /**
   * Set when custom metrics are served; `register`: the API is registered with the aggregator, which needs `caBundle`.
   */
  customMetrics?: { register: boolean };
  /** The same for `external.metrics.k8s.io`, on the same port; ignored without `customMetrics`. */
  externalMetrics?: { register: boolean };
  /** The installation's options for its query server. */
  query?: QueryOptions;
  /** Kinds of the Prometheus Operator that the cluster serves. */
  monitors?: { pod: boolean; service: boolean };
}

const commonDefaults: CommonInput = {
  namespace: 'svc-system',
  svcImage: 'svc-operator:0.1.0',
  instrumentImage: 'otel/ebpf-instrument:v0.10.0',
  instrumentPorts: '80,443,8080,8443',
  agentDataHostPath: '/var/lib/svc-agent',
  logLevel: 'info',
  collector: { namespace: 'gmp-system', name: 'collector' },
};

/** Default settings of every installation; the operator's flags replace them one by one. */
export const platformDefaults: PlatformInput = {
  ...commonDefaults,
  hostNetwork: false,
  agentMaxUnavailable: '10%',
  queryReplicas: 2,
};

/** The inputs of one minter. */
export interface MinterInput {
  /** The minter's object; its uid goes into the owner references, its spec has all defaults filled in. */
  minter: MinterDeployment;
  /** The operator's namespace: its pods may read the minter's health and metrics. */
  operatorNamespace: string;
  imagePullPolicy?: PullPolicy;
  /** Hash of the current App ID. A change rolls the pods, because the environment is read at start. */
  appIdHash?: string;
}

/** The inputs of the operator's own installation. */
export interface ControllerInput extends CommonInput {
  /** One is the leader, the others stand by. */
  replicas: number;
  queryReplicas: number;
  customMetrics: CustomMetricsMode;
  externalMetrics: CustomMetricsMode;
  query: QueryOptions;
  /** Whether policies may add further keys to the instrument's file. */
  allowExtraConfig: boolean;
  /** Whether monitors and policies are checked when they are written. */
  admission: AdmissionMode;
  /** OTLP/HTTP endpoint for a span per reconcile; undefined or empty: none is passed. */
  otlpEndpoint?: string;
}

export const controllerDefaults: ControllerInput = {
  ...commonDefaults,
  replicas: 2,
  queryReplicas: 2,
  customMetrics: defaultCustomMetricsMode,
  externalMetrics: 'off',
  query: {},
  allowExtraConfig: false,
  admission: 'off',
};
