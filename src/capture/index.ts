/**
 * From monitors and policies to what each node runs: the pure compile to one CaptureConfig per node, the
 * instrument's file of each version, and the protocol that brings both to an agent.
 * This code does not use the API server: controllers call it and act on its results.
 */
export * from './capture-config.ts';
export { pathRewriter } from './redaction-pattern.ts';
export * from './protocol.ts';
export * from './session.ts';
export * from './node-certificate.ts';
export { parkedConfig, type ParkedOptions, seedLogText, zeroConfig } from './seed.ts';
export { instrumentVersion, isSinceV010, type InstrumentVersion } from './instrument-yaml/version.ts';
export { opensHealthSocket } from './instrument-yaml/render.ts';
export { fileChanges, type FileChanges } from './instrument-yaml/changes.ts';
export { AgentClient, type AgentTransport } from './push-client.ts';
export { hostMatches } from './host-glob.ts';
export { matchesGlob } from './compile/select/selector.ts';
export { holdsPort } from './ports.ts';
export { secretRefsOf } from './compile/exports.ts';
export { compile, Compiler } from './compile/compile.ts';
export { monitorOf } from './compile/unsent.ts';
export { generationKey, generationOf, objectOfKey } from './compile/generations.ts';
export { judgePolicies, policiesInForce } from './compile/check/acceptance.ts';
export { lastMonitorSpec, lastPolicySpec } from './compile/check/last-accepted.ts';
export { compareMonitors } from './compile/select/precedence.ts';
export type * from './compile/types.ts';
export { planRollout, type RolloutNode, type HoldReason } from './rollout.ts';
export { orphanedMonitors, silencedMonitors, type CaptureObjects } from './compile/select/orphans.ts';
export { podMismatch } from './compile/check/pod-mismatch.ts';
export { commonSettings, podView, type PodSetting, type PodView } from './compile/select/pod-view.ts';
export {
  lastingContainers,
  matchPods,
  ownerBehind,
  workloadName,
  type LastingContainers,
} from './compile/select/pods.ts';
export { policyFinding } from './compile/check/policy-checks.ts';
export { monitorFinding } from './compile/check/monitor-checks.ts';
export { decides, policiesByStatus, queryFields, queryLimits, queryPolicies } from './query-limits.ts';
export type { QueryField, QueryLimits } from './query-limits.ts';
