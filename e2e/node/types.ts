/** The part of the Kubernetes API that a node reads and writes, no more. */

export interface Meta {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
}

export interface Pod {
  metadata: Meta;
  spec: PodSpec;
  status?: PodStatus;
}

export interface PodSpec {
  nodeName?: string;
  hostNetwork?: boolean;
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  serviceAccountName?: string;
  terminationGracePeriodSeconds?: number;
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
  readinessGates?: { conditionType: string }[];
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvVar[];
  envFrom?: EnvFrom[];
  ports?: { name?: string; containerPort: number }[];
  volumeMounts?: VolumeMount[];
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> };
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
  /** Only init containers have this field. `Always` makes such a container a sidecar. */
  restartPolicy?: string;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: FieldRef;
    resourceFieldRef?: ResourceFieldRef;
    configMapKeyRef?: KeyRef;
    secretKeyRef?: KeyRef;
  };
}

export interface EnvFrom {
  prefix?: string;
  configMapRef?: { name: string; optional?: boolean };
  secretRef?: { name: string; optional?: boolean };
}

export interface FieldRef {
  fieldPath: string;
}

export interface ResourceFieldRef {
  containerName?: string;
  resource: string;
  divisor?: string;
}

export interface KeyRef {
  name: string;
  key: string;
  optional?: boolean;
}

export interface VolumeMount {
  name: string;
  mountPath: string;
  subPath?: string;
  subPathExpr?: string;
}

export interface KeyToPath {
  key: string;
  path: string;
  mode?: number;
}

export interface DownwardItem {
  path: string;
  mode?: number;
  fieldRef?: FieldRef;
  resourceFieldRef?: ResourceFieldRef;
}

export interface Projection {
  serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number };
  configMap?: { name: string; items?: KeyToPath[]; optional?: boolean };
  secret?: { name: string; items?: KeyToPath[]; optional?: boolean };
  downwardAPI?: { items?: DownwardItem[] };
}

export interface Volume {
  name: string;
  configMap?: { name: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number };
  secret?: { secretName: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number };
  projected?: { sources?: Projection[]; defaultMode?: number };
  downwardAPI?: { items?: DownwardItem[]; defaultMode?: number };
  emptyDir?: object;
  hostPath?: { path: string; type?: string };
}

export interface Probe {
  httpGet?: {
    path?: string;
    port: number | string;
    host?: string;
    scheme?: string;
    httpHeaders?: { name: string; value: string }[];
  };
  tcpSocket?: { port: number | string; host?: string };
  exec?: { command?: string[] };
  initialDelaySeconds?: number;
  periodSeconds?: number;
  timeoutSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
  terminationGracePeriodSeconds?: number;
}

export interface Terminated {
  exitCode: number;
  signal?: number;
  reason: string;
  message?: string;
  startedAt: string;
  finishedAt: string;
  containerID?: string;
}

export interface ContainerState {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: Terminated;
}

export interface ContainerStatus {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  ready: boolean;
  started: boolean;
  restartCount: number;
  state: ContainerState;
  lastState: ContainerState;
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string | null;
  message?: string | null;
  lastTransitionTime?: string;
  observedGeneration?: number;
}

export interface PodStatus {
  phase?: string;
  conditions?: Condition[];
  podIP?: string;
  podIPs?: { ip: string }[];
  hostIP?: string;
  startTime?: string;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
}

/** A ConfigMap or a Secret. */
export interface DataObject {
  metadata: Meta;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

/** Something that keeps a container from starting, in the words that `kubectl get pods` shows. */
export class WaitingError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.name = 'WaitingError';
    this.reason = reason;
  }
}

/** `namespace/name` of an object. */
export const keyOf = (object: { metadata: Meta }): string => `${object.metadata.namespace}/${object.metadata.name}`;
