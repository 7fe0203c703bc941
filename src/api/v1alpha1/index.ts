/**
 * The API of the product: three kinds of group `svc.dev`, version `v1alpha1`. Other parts of the product use the kinds'
 * types, their resource references and their condition tables. The generators use the kinds' schemas.
 */
export * from './group.ts';
export { kinds } from './kinds.ts';
export * from './conditions.ts';
export { trafficMonitorKind, autoscalingPresets } from './traffic-monitor.ts';
export type { TrafficMonitor, TrafficMonitorSpec, TrafficMonitorStatus } from './traffic-monitor.ts';
export { clusterTrafficPolicyKind } from './cluster-traffic-policy.ts';
export type {
  ClusterTrafficPolicy,
  ClusterTrafficPolicySpec,
  ClusterTrafficPolicyStatus,
} from './cluster-traffic-policy.ts';
export { minterDeploymentKind } from './minter-deployment.ts';
export type { MinterDeployment, MinterDeploymentSpec, MinterDeploymentStatus } from './minter-deployment.ts';
export { familyNames, monitorSettingLeaves, namingLabelFault, namingLabels, protocolNames } from './traffic-fields.ts';
export type { MetricFamily, MonitorSettings, Protocol, WorkloadKind } from './traffic-fields.ts';
export { builtinQueryParams } from './query-params.ts';
export type { Exclusion } from './policy-scope.ts';
