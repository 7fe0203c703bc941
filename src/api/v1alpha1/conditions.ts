/**
 * Condition types and reasons of the three kinds, a sentence each. Controllers, events, documents and tests take the
 * words from here. Each table is `type → { good, reasons: reason → sentence }`; `good` is the status that means "well".
 */

import { appIdForm } from './app-id.ts';

/** Which status of a condition means that all is well. */
export type GoodStatus = 'True' | 'False';

interface ConditionInfo {
  good: GoodStatus;
  about: string;
  reasons: Readonly<Record<string, string>>;
}
type ConditionTable = Readonly<Record<string, ConditionInfo>>;

/** Reasons of `Ready` and `Stalled` when a dependent object cannot be written or run. */
const refusals = {
  Forbidden: 'The API server denies the controller a request that it needs.',
  QuotaExceeded: 'A quota of the namespace leaves no room for an object.',
  AdmissionDenied: 'An admission webhook or policy refuses an object, or could not be asked.',
  Conflict: 'An object of the needed name exists and has another owner.',
  MissingDependency: 'An object that the spec refers to is missing.',
  ImagePullFailed: 'The image of a pod cannot be pulled.',
} as const;

const notApplied = { ApplyFailed: 'An object could not be written; it is tried again.' } as const;

/** Set by the runtime on every kind, as kstatus expects them: present only while they are True. */
export const commonConditions = {
  Reconciling: {
    good: 'False',
    about: 'The controller is still at work on the newest generation.',
    reasons: {
      Progressing: 'Objects or nodes have not caught up yet.',
      NewGeneration: 'The newest generation has not been worked on yet.',
      Retrying: 'The last attempt failed and is being repeated.',
    },
  },
  Stalled: {
    good: 'False',
    about: 'The controller cannot go on until the object, or what it names, is changed.',
    reasons: {
      Invalid: 'The spec cannot be carried out as it is.',
      ...refusals,
      RetriesExhausted: 'Repeating did not help.',
    },
  },
} as const satisfies ConditionTable;

const programmed = {
  good: 'True',
  about: 'All desired nodes run this generation.',
  reasons: {
    Programmed: 'All desired nodes run this generation.',
    RollingOut: 'Some nodes have not got there yet.',
    NodesUnreachable: 'Some agents do not answer.',
    NodesFailed: 'Some nodes refused the configuration or could not run it.',
    RolloutPaused: 'A node failed and the policy stops the rollout there.',
    RestartsLimited:
      'The namespace has caused its share of restarts of the instrument; its edits are gathered until the time in the message.',
    RestartBackOff: 'Nothing failed: the kubelet waits before it starts an instrument again that ended with code 0.',
    ImagePullFailed: 'The instrument has ended on a node, and the kubelet cannot pull its image to start it again.',
  },
} as const satisfies ConditionInfo;

const limitsExceeded = {
  good: 'False',
  about: 'A ceiling holds data back.',
  reasons: {
    SeriesLimit: 'More series than allowed: the rest is added up or dropped.',
    SpanRateLimit: 'More spans than allowed: the rest is dropped.',
    WithinLimits: 'No ceiling is reached.',
  },
} as const satisfies ConditionInfo;

const exporting = {
  good: 'True',
  about: 'Data reaches the destinations of the export list. Absent without such a list.',
  reasons: {
    Exporting: 'Every destination takes what is sent.',
    DestinationNotAllowed:
      'No policy allows the host of a destination, or its address is one that nothing may be sent to.',
    SendFailing: 'A destination does not take what is sent, or its queue on a node cannot be opened or read.',
  },
} as const satisfies ConditionTable[string];

export const trafficMonitorConditions = {
  Ready: {
    good: 'True',
    about:
      'Accepted, ResolvedRefs and Programmed are well, and no obstacle to capture is known; otherwise the first of them that is not well, or the obstacle. Other conditions do not count.',
    reasons: {
      Ready: 'Accepted, resolved, programmed, and capturing where there is traffic.',
      Pending: 'The controller has not judged this object yet.',
      Suspended: 'The monitor is suspended and therefore in no configuration.',
    },
  },
  Accepted: {
    good: 'True',
    about: 'The spec is valid and allowed here.',
    reasons: {
      Accepted: 'The spec is accepted as it is.',
      LimitClamped: 'The spec is accepted; a limit in it is lowered to that of the policy.',
      Invalid: 'A field does not mean anything that can be carried out.',
      UnsupportedSelector: 'The selector uses what the instrument cannot express.',
      UnsafeSelector: 'A selector value is not safe as a name pattern.',
      NamespaceNotAllowed: 'No policy lets this namespace have monitors, or it has more than a policy allows.',
    },
  },
  ResolvedRefs: {
    good: 'True',
    about: 'Every object that the spec refers to exists.',
    reasons: {
      ResolvedRefs: 'Every reference is resolved.',
      SecretNotFound: 'A Secret or its key is missing.',
      SecretForbidden: 'The operator may not read a Secret; the message says how to grant it.',
      SecretTooLong: 'The value of a Secret is too long for a token.',
      SecretUnreadable: 'The API server has failed to return a Secret for ten minutes.',
    },
  },
  Programmed: programmed,
  Capturing: {
    good: 'True',
    about: 'Data of at least one matched pod arrived within three export intervals.',
    reasons: {
      TrafficSeen: 'Recent data of a matched pod is there.',
      NoTraffic: 'Capture is on and the pods are quiet.',
      NoMatchingPods: 'No running pod matches.',
      Excluded:
        'Exclusions leave out every matched pod; the message names what excludes them. Ready does not count it.',
      PortNotOpen: 'No matched process listens on a selected port.',
      NotAttached: 'The instrument has not attached to the matched processes.',
      MissingCapability: 'The instrument lacks a capability on a node.',
      KernelUnsupported: 'The kernel of a node has no kprobes or no type information.',
      MetadataMissing: 'Data arrives without the Kubernetes attributes that would assign it.',
    },
  },
  Conflicted: {
    good: 'False',
    about: 'Another object decides a field that this one sets.',
    reasons: {
      OverriddenByPolicy: 'A policy overrides fields of this monitor.',
      OverriddenByMonitor: 'A stronger monitor matches the same pods.',
      NoConflicts: 'Nothing overrides this monitor.',
    },
  },
  LimitsExceeded: limitsExceeded,
  Exporting: exporting,
  MetricsOffered: {
    good: 'True',
    about:
      'Autoscalers can ask for every metric of the monitor. Absent while the monitor is suspended, and where the spec in force has no metrics or there is none.',
    reasons: {
      Offered: 'Each metric can be computed, and its expression costs what is allowed for each series.',
      ResourceUnknown: 'A metric describes a kind that no series of the monitor names; it is not offered.',
      ExpressionInvalid: 'An expression does not parse, or is no number; it is not offered.',
      ExpressionTooCostly: 'One evaluation of an expression looks at too many samples; it is not offered.',
    },
  },
  ...commonConditions,
} as const satisfies ConditionTable;

export const clusterTrafficPolicyConditions = {
  Ready: {
    good: 'True',
    about: 'The policy is accepted and programmed; otherwise the first of the two that is not.',
    reasons: {
      Ready: 'Accepted, and every node in scope runs it.',
      Pending: 'The controller has not judged this object yet.',
      ...refusals,
      ...notApplied,
    },
  },
  Accepted: {
    good: 'True',
    about: 'The spec is valid and allowed.',
    reasons: {
      Accepted: 'The spec is accepted as it is.',
      LimitClamped: 'The spec is accepted; a size in it is lowered to what an agent can hold.',
      Invalid: 'A field does not mean anything that can be carried out.',
      ExtraConfigNotAllowed: 'The field instrument.extraConfig is set and the controller does not allow it.',
      TooManyPolicies: 'An agent takes 1,000 policies, and as many older ones are in force; this one is not.',
    },
  },
  Programmed: programmed,
  Degraded: {
    good: 'False',
    about: 'Part of the nodes in scope is not served.',
    reasons: {
      NodesUnreachable: 'Some agents do not answer.',
      NodesFailed: 'Some nodes refused the configuration or could not run it.',
      AllNodesReady: 'Every node in scope is served.',
    },
  },
  LimitsExceeded: limitsExceeded,
  Exporting: exporting,
  CapturingFlows: {
    good: 'True',
    about: 'The nodes in scope capture network flows, which needs the host network.',
    reasons: {
      Enabled: 'Every node in scope captures flows.',
      PartlyEnabled: 'A policy enables flows on some of the nodes in scope.',
      NotEnabled: 'No policy sets network.enabled: flows are off, and the agents stay out of the host network.',
      SwitchedOff: 'The strongest policy that sets network.enabled switches flows off.',
      Paused: 'A policy that speaks of flows is paused.',
      NoNodes: 'No node that runs an agent is in scope: nodeSelector matches none, or there is none.',
      NotInForce: 'No spec of the policy was ever accepted.',
    },
  },
  QueryLimitsInForce: {
    good: 'True',
    about: 'Query servers enforce spec.query. Absent if the policy does not set it.',
    reasons: {
      InForce: 'The fields named at the beginning of the message are in force.',
      Overridden: 'A stronger policy sets each of these fields.',
      NodesSelected: 'The policy covers some nodes only, and a query reads all of them.',
    },
  },
  CertificateExpiring: {
    good: 'False',
    about: 'A serving certificate is overdue for renewal, or an agent could not be given one.',
    reasons: {
      RenewalOverdue: 'A certificate should have been renewed by now.',
      AgentsWaiting: 'Agents have no certificate, or one that ends soon, and got none for a minute.',
      CertificatesValid: 'All certificates are renewed in time.',
    },
  },
  CustomMetricsAvailable: {
    good: 'True',
    about: 'Autoscalers can read captured metrics.',
    reasons: {
      Available: 'The custom metrics API is registered and answers.',
      ForeignAPIService: 'Another server owns the custom metrics API; it is left alone.',
      Unavailable: 'The custom metrics API is registered and does not answer.',
    },
  },
  ExternalMetricsAvailable: {
    good: 'True',
    about: 'Autoscalers can read captured metrics as external ones; only where that is switched on.',
    reasons: {
      Available: 'The external metrics API is registered and answers.',
      ForeignAPIService: 'Another server owns the external metrics API; it is left alone.',
      Unavailable: 'The external metrics API is registered and does not answer.',
    },
  },
  ...commonConditions,
} as const satisfies ConditionTable;

export const minterDeploymentConditions = {
  Ready: {
    good: 'True',
    about: 'Tokens can be minted; otherwise the first condition that is not well.',
    reasons: {
      Ready: 'Tokens can be minted.',
      Pending: 'The controller has not judged this object yet.',
      ...refusals,
      ...notApplied,
    },
  },
  RulesValid: {
    good: 'True',
    about: 'Every rule file and scope is usable.',
    reasons: {
      Valid: 'Every rule file and scope is usable.',
      ScopeFaulty: 'A scope is off because of a fault in it.',
      FileFaulty: 'A rule file is not usable.',
      ConfigMapNotFound: 'The ConfigMap with the rules is missing.',
      RepositoryOutsideSpec:
        'A rule names a repository that the spec does not declare, or a line of gitops-state does not name a repository of this organization.',
      NoPodAnswered: 'No pod could be asked.',
      Pending: 'The pods have not read the rules yet.',
    },
  },
  AppCredentialsFound: {
    good: 'True',
    about: 'The App ID is there.',
    reasons: {
      Found: 'The Secret has a numeric App ID.',
      SecretNotFound: 'The Secret is missing.',
      KeyMissing: 'The Secret lacks the key.',
      NotNumeric: `The value is not ${appIdForm}.`,
      Forbidden: 'The controller may not read the Secret, so its content is unknown.',
    },
  },
  KeyEnabled: {
    good: 'True',
    about: 'The key version can sign.',
    reasons: {
      Enabled: 'The key version is enabled.',
      NotFound: 'The key version does not exist; import the key first.',
      Disabled: 'The key version is disabled.',
      Destroyed: 'The key version is destroyed.',
      PendingImport: 'The key version is still being imported.',
      WrongAlgorithm: 'The key does not sign with RSA PKCS#1 v1.5 and SHA-256.',
      PermissionDenied: 'The service account may not use the key.',
      KeyServiceUnreachable: 'The key service did not answer.',
      NoPodAnswered: 'No pod could be asked.',
      Pending: 'The pods have not checked it yet.',
    },
  },
  KeyMatchesApp: {
    good: 'True',
    about: 'The platform takes the signature of this key for the App.',
    reasons: {
      Matches: 'The key belongs to the App.',
      NextMatches: 'The key and the next key version belong to the App.',
      WrongApp: 'The key belongs to another App, or to none.',
      NextWrongApp: 'The next key version belongs to another App, or to none.',
      ClockSkew: "A pod's node has a clock at which the platform takes no signature.",
      PlatformUnreachable: 'The platform did not answer.',
      NoPodAnswered: 'No pod could be asked.',
      Pending: 'The pods have not checked it yet.',
    },
  },
  InstallationFound: {
    good: 'True',
    about: 'The App is installed where it is needed, with what it needs.',
    reasons: {
      Found: 'The installation covers the repositories and permissions.',
      NotInstalled: 'The App is not installed in the organization.',
      PersonalAccount: 'The owner is a personal account; an organization is needed.',
      Suspended: 'The installation is suspended.',
      RepositoryNotSelected: 'The installation leaves a repository out.',
      PermissionMissing: 'The installation lacks a permission.',
      PlatformUnreachable: 'The platform did not answer.',
      NoPodAnswered: 'No pod could be asked.',
      Pending: 'The pods have not checked it yet.',
    },
  },
  Available: {
    good: 'True',
    about: 'Enough pods are ready, as the Deployment says.',
    reasons: {
      MinimumReplicasAvailable: 'Enough pods are ready.',
      MinimumReplicasUnavailable: 'Too few pods are ready.',
      DeploymentPending: 'The Deployment has no status yet.',
    },
  },
  Progressing: {
    good: 'True',
    about: 'The rollout moves or is complete, as the Deployment says.',
    reasons: {
      NewReplicaSetAvailable: 'The rollout is complete.',
      ReplicaSetUpdated: 'The rollout moves.',
      ProgressDeadlineExceeded: 'The rollout does not move.',
      DeploymentPending: 'The Deployment has no status yet.',
    },
  },
  NetworkPolicyApplied: {
    good: 'True',
    about: 'The NetworkPolicy that keeps other callers out is in place.',
    reasons: { Applied: 'It is in place.', ApplyFailed: 'It could not be applied.' },
  },
  ...commonConditions,
} as const satisfies ConditionTable;
