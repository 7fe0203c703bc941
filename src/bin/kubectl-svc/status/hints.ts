import { group } from '../../../api/v1alpha1/index.ts';

const describeIt = (o: Named): string =>
  `kubectl ${o.namespace === undefined ? '' : `-n ${o.namespace} `}describe ${o.plural}.${group} ${o.name}`;

interface Named {
  readonly plural: string;
  readonly name: string;
  readonly namespace?: string | undefined;
}

const minterKey = 'minter tools import-pk --help tells how a key gets into the key service';
const asked = 'kubectl get pods of the minter: none of them answers';

/** The remedy for each reason of a condition that is not well, in one line. */
export const ways: Readonly<Record<string, string>> = {
  Pending: 'wait; if it stays so, the operator does not work: see Operator',
  Invalid: 'correct the field that the message names; until then the last accepted spec stays in force',
  UnsupportedSelector: 'use In and Exists; for "not" add a second monitor with mode: Exclude',
  UnsafeSelector: 'take the characters out of the value that the message names',
  NamespaceNotAllowed: 'ask the platform team: monitorNamespaces or limits.maxMonitorsPerNamespace of the policy',
  ExtraConfigNotAllowed: 'remove instrument.extraConfig, or run the operator with --allow-extra-config=true',
  TooManyPolicies: 'merge policies with equal rules into one with a wider namespaceSelector, or delete a policy',
  SecretNotFound: 'create the Secret and the key that the message names',
  SecretTooLong: 'put the token into the key that the message names, and nothing else',
  SecretUnreadable: 'kubectl get the Secret that the message names: the API server says what is wrong with it',
  RollingOut: 'wait; kubectl svc status nodes shows who is behind',
  RestartsLimited: 'wait until the time in the message: the edits of the namespace come with the next restart',
  RestartBackOff: 'wait, or delete the agent pod of the node: a new pod starts without the wait',
  NodesUnreachable: 'look at the agents of the nodes that the message names: kubectl svc status nodes',
  NodesFailed: 'kubectl svc explain node/NAME of a node that the message names',
  RolloutPaused: 'edit the object once more so that the file changes, or delete the agent pod of the node that failed',
  Overridden: 'nothing, where the stronger policy is meant to decide; else raise spec.priority',
  NodesSelected: 'move spec.query to a policy without nodeSelector',
  SecretForbidden: 'grant the operator the Secret by name, as the message says',
  ResourceUnknown: 'write one of the kinds that the message lists, with its group, as in deployments.apps',
  ExpressionInvalid: 'correct the expression that the message names',
  ExpressionTooCostly: 'shorten the ranges and subqueries of the expression that the message names',
  NotEnabled: 'set spec.network.enabled: true in a policy for flows; it puts the agents into the host network',
  PartlyEnabled: 'nothing, where other policies are meant for the other nodes; else see their spec.network',
  NoNodes: 'kubectl get nodes --show-labels: no node has what spec.nodeSelector asks for, or none runs an agent',
  NotInForce: 'correct what the message of Accepted names',
  Paused: 'unset spec.paused of the policy that speaks of flows',
  PortNotOpen: 'list the port that the pods listen on in spec.ports, or remove ports',
  NotAttached: 'kubectl svc explain node/NAME; the log of container instrument says what it finds',
  MissingCapability:
    'allow the agent pods the capabilities that the message names (pod security, seccomp, runtime), or give the operator --instrument-privileges',
  KernelUnsupported: 'requests need a kernel with kprobes and BTF; flows are captured all the same',
  MetadataMissing: 'the agent needs to list pods: see its log',
  NoTraffic: 'send requests to the pods: a new process is seen after about 30 s',
  NoMatchingPods: 'compare selector and workloads with the labels of the pods: kubectl svc explain monitor/NAME',
  Excluded:
    "narrow the exclusion that the message names (for the instrument's own list: systemNamespaces: None), or delete the monitor: the operator's own namespace is never captured",
  OverriddenByPolicy: 'nothing, where the policy is meant; else see spec.overrides of the policy',
  OverriddenByMonitor: 'raise priority, or select more specifically',
  SeriesLimit: 'raise limits.maxSeries, or drop labels with metrics.labels.exclude',
  SpanRateLimit: 'raise the span ceiling, or lower sampling.ratio',
  DestinationNotAllowed: 'add the host to exportAllowList of a policy',
  SendFailing: 'look at the destination, its credentials and the NetworkPolicies on the way',
  AgentsWaiting:
    'the message says what is in the way; port 9093 of the agents must be open to the operator, and their pods ready to answer: kubectl svc status nodes',
  RenewalOverdue: 'the operator renews certificates: look at its log',
  ForeignAPIService: 'nothing, where the other server is meant to have it; else see the message',
  Unavailable: 'kubectl get apiservices; the query servers must be ready and reachable from the API server',
  Forbidden: "give the operator's service account the right that the message names (install again)",
  QuotaExceeded: 'raise the quota of the namespace',
  AdmissionDenied: 'look at the webhook or policy that the message names',
  Conflict: 'rename or remove the object that is in the way',
  MissingDependency: 'create what the message names',
  ImagePullFailed: 'check the image that the pod names, its registry, and imagePullSecrets',
  ApplyFailed: 'it is tried again; see the log of the operator',
  RetriesExhausted: 'see the log of the operator; any edit of the object starts anew',
  Retrying: 'wait; the message says what failed',
  Progressing: 'wait',
  NewGeneration: 'wait',
  ScopeFaulty: 'correct the rules of the scope that the message names',
  FileFaulty: 'correct the rule file that the message names',
  ConfigMapNotFound: 'create the ConfigMap that spec names',
  RepositoryOutsideSpec: 'declare the repository in spec, or correct the rules or the line of gitops-state',
  NoPodAnswered: asked,
  KeyMissing: 'put the App ID under the key that spec names',
  NotNumeric: 'the App ID is a number: see the settings page of the App',
  NotFound: minterKey,
  Disabled: 'enable the key version, or name another one in spec',
  Destroyed: minterKey,
  PendingImport: 'wait until the key service has imported the key',
  WrongAlgorithm: 'the key must sign with RSA PKCS#1 v1.5 and SHA-256',
  PermissionDenied: 'let the service account of the minter use the key',
  KeyServiceUnreachable: 'look at the way to the key service: NetworkPolicies, proxies',
  WrongApp: 'correct the App ID, or import the key of this very App',
  NextWrongApp: 'import the key of this very App as the next version',
  ClockSkew: 'synchronize the clocks of the nodes that the minter runs on (NTP); keep key and App ID as they are',
  PlatformUnreachable: 'look at the way to the platform: NetworkPolicies, proxies',
  NotInstalled: 'install the App in the organization',
  PersonalAccount: 'use an organization',
  Suspended: 'unsuspend it',
  RepositoryNotSelected: 'select the repository in the settings of the installation',
  PermissionMissing: 'accept the permission in the settings of the installation',
  MinimumReplicasUnavailable: 'kubectl describe the Deployment and its pods',
  DeploymentPending: 'wait',
  ProgressDeadlineExceeded: 'kubectl describe the Deployment and its pods',
};

/** The remedy for a reason of an object, or at least where to look. */
export function wayOut(reason: string, object: Named): string {
  return ways[reason] ?? describeIt(object);
}

/** The remedy for a node, by the reason in a list of failed nodes. */
export function nodeWayOut(reason: string, node: string): string {
  return nodeWays[reason] ?? ways[reason] ?? `kubectl svc explain node/${node}`;
}

/** Reasons that apply only to nodes. */
const nodeWays: Readonly<Record<string, string>> = {
  NoAgent: 'kubectl describe daemonset svc-agent in its namespace: taints and quotas keep pods away',
  AgentNotReady: 'kubectl describe the agent pod, and read its logs',
  Unreachable: 'the operator does not reach port 9093 of the agent: NetworkPolicies, certificates',
  ConfigRefused:
    'the message is of the instrument or the agent: correct what it names; it is a fault of ours if no extraConfig is set',
  OutOfMemory: 'raise the memory limit of container instrument, or capture less',
  InstrumentCrashed: 'kubectl logs of the agent pod, -c instrument --previous',
  InstrumentNotRestarted:
    'the supervisor has not restarted the instrument: kubectl logs of the agent pod, -c instrument',
  InstrumentNotRunning: 'kubectl logs of the agent pod, -c instrument',
  NotRunning: 'kubectl logs of the agent pod, -c instrument',
  WriteFailed:
    'the agent cannot write on its disk: space, permissions of the data folder; the operator sends the config again each minute',
};
