/**
 * Desired state → manifests. Pure: no I/O, no clock, no environment; each file renders one family of objects, and
 * golden files in `testdata` hold the expected results. Entry points: `renderPlatform` (agents and query),
 * `renderMinter` (one minter, the server that gives out GitHub tokens), `renderController` (the operator's own
 * installation). Results are complete objects for server-side apply, in an order that can be applied as it is.
 */
export {
  controllerDefaults,
  customMetricsModes,
  defaultCustomMetricsMode,
  instrumentPrivileges,
  platformDefaults,
} from './input.ts';
export type { ControllerInput, CustomMetricsMode, PlatformInput, ServiceAccountRef } from './input.ts';
export { customMetricsApiServices, externalMetricsApiServices } from './custom-metrics.ts';
export { captureOptionTable } from './capture-options.ts';
export { queryDurations, queryOptions, queryOptionTable } from './query-options.ts';
export type { QueryOption, QueryOptions } from './query-options.ts';
export { renderMonitors } from './monitors.ts';
export { instrumentVersion } from './agent/containers.ts';
export { controllerRights } from './rights/controller-rights.ts';
export { partRights } from './rights/part-rights.ts';
export type { Right } from './rights/rbac.ts';
export { renderMinterRights } from './rights/controller-rbac.ts';
export { appCredentialsSecret, names, objectLabels, ports, selectorLabels, selectorText } from './names.ts';
export type { Component } from './names.ts';
export { renderedKinds } from './objects.ts';
export type { RenderedKind } from './objects.ts';
export { requiredNodes, withUserChanges } from './user-changes.ts';
export { minterUrl } from './minter/names.ts';
export { declaredRepositories, renderMinterRules } from './minter/rules.ts';
export { renderPlatform } from './platform.ts';
export { appIdHashAnnotation, renderMinter } from './minter/minter.ts';
export { renderController } from './controller.ts';
export { renderInstallation } from './installation.ts';
export type { InstallationInput, MinterInstallation } from './installation.ts';
export { isWaitingRemoval, renderDataRemoval } from './data-removal.ts';
export type { AgentStores } from './data-removal.ts';
export { admissionPaths, conversionPath, renderAdmission, renderConversion } from './admission.ts';
export type { AdmissionMode } from './admission.ts';
