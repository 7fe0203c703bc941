/**
 * What `svc-operator/runtime` exports: the reconcile framework, the client, and the small parts that a program built on
 * them needs (object shapes, clock, logger, errors). The list of every name is in `surface/runtime.txt`.
 */
import { createKubeClient as createRestClient, type KubeClient, type KubeClientOptions } from '../kube/index.ts';

export * from '../runtime/index.ts';
export type { ApplySetOptions } from '../runtime/apply/apply-set.ts';
export type { Drift } from '../runtime/apply/drift.ts';
export type { ConditionTransition } from '../runtime/apply/conditions.ts';
export type { FinalizerOptions } from '../runtime/apply/finalizer.ts';
export type { StatusWriterOptions } from '../runtime/apply/status-writer.ts';
export type { Check } from '../runtime/health.ts';
export type { LeaderElectionOptions } from '../runtime/control/leader-election.ts';
export type { ReconcileOutcome, ReflectorHooks } from '../runtime/metrics.ts';
export type { SharedCacheOptions } from '../runtime/watch/shared-cache.ts';

export {
  ApiError,
  coreResources,
  fieldConflicts,
  getIfExists,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNamespaceTerminating,
  isNotFound,
  isQuotaExceeded,
  isRefusedByAdmission,
  isTooManyRequests,
  isUnauthorized,
  listAll,
  retryAfterMs,
} from '../kube/index.ts';
export type { ApiFailure, FieldConflict, KubeClientOptions, RequestObservation, WatchFrame } from '../kube/index.ts';
export type * from '../kube/client.ts';

export { resourceRef } from '../api/meta.ts';
export type {
  Condition,
  ConditionStatus,
  KubeObject,
  ManagedFieldsEntry,
  ObjectMeta,
  OwnerReference,
  ResourceRef,
  StoredMeta,
} from '../api/meta.ts';

export { webhookHandler, type WebhookOptions } from '../net/webhook/handler.ts';
export { convert, type Converter, type Converters } from '../net/webhook/conversion.ts';
export type { AdmissionRequest, AdmissionVerdict, Validator } from '../net/webhook/admission.ts';
export type { UserInfo } from '../kube/reviews.ts';
export type { HttpHandler } from '../net/http/door.ts';

export { sleep, systemClock, type Clock } from '../base/clock.ts';
export { errorCodes, errorText, isOperatorError, OperatorError, type ErrorCode, type Retry } from '../base/errors.ts';
export { createLogger, silentLogger } from '../base/logger.ts';
export type { LogFields, Logger, LoggerOptions, LogLevel } from '../base/logger.ts';
export type { TraceExportOptions } from '../base/trace-export.ts';

/**
 * A client for the cluster that the environment names: the files of `KUBECONFIG` that exist, without that variable
 * `~/.kube/config`, else the pod's service account. Of proxies, only the kubeconfig's `proxy-url` is used.
 * Errors: ERR_CONFIG_INVALID where the kubeconfig is missing or cannot be used.
 */
export const createKubeClient: (options?: KubeClientOptions) => KubeClient = createRestClient;
