import type { KubeObject } from '../../api/meta.ts';
import { OperatorError } from '../../base/errors.ts';
import type { UserInfo } from '../../kube/reviews.ts';

/** The part of an `AdmissionReview` request (admission.k8s.io/v1) that a validator reads. */
export interface AdmissionRequest {
  uid: string;
  operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  resource: { group: string; version: string; resource: string };
  name: string;
  namespace: string | undefined;
  username: string;
  /** The complete user info from the API server; unverified unless the caller is proven to be the API server. */
  user: UserInfo;
  dryRun: boolean;
  /** The object as it would be stored; undefined on DELETE. */
  object: KubeObject | undefined;
  /** The stored object; undefined on CREATE. */
  oldObject: KubeObject | undefined;
}

/** `kubectl` shows `message`, and the warnings of allowed and denied requests (each cut to 256 characters). */
export type AdmissionVerdict =
  | { allowed: true; warnings?: readonly string[] }
  | { allowed: false; message: string; reason?: 'Invalid' | 'Forbidden' | 'Conflict'; warnings?: readonly string[] };

/** Judges a request. It must not change anything (`sideEffects: None`), and answers within the webhook's timeout. */
export type Validator = (
  request: AdmissionRequest,
  signal: AbortSignal,
) => AdmissionVerdict | Promise<AdmissionVerdict>;

const statusOf = { Invalid: 422, Forbidden: 403, Conflict: 409 } as const;

/** Reads an `AdmissionReview`. Errors: ERR_INPUT_INVALID that names the field. */
export function readAdmissionReview(body: unknown): AdmissionRequest {
  const review = record(body, 'AdmissionReview');
  if (review['apiVersion'] !== 'admission.k8s.io/v1' || review['kind'] !== 'AdmissionReview') {
    throw invalid('apiVersion, kind', 'not an AdmissionReview of admission.k8s.io/v1');
  }
  const request = record(review['request'], 'request');
  const operation = request['operation'];
  if (operation !== 'CREATE' && operation !== 'UPDATE' && operation !== 'DELETE' && operation !== 'CONNECT') {
    throw invalid('request.operation', 'unknown');
  }
  const resource = record(request['resource'], 'request.resource');
  const text = (from: Record<string, unknown>, name: string): string => {
    const value = from[name];
    return typeof value === 'string' ? value : '';
  };
  const uid = text(request, 'uid');
  if (uid === '') throw invalid('request.uid', 'missing');
  const user = request['userInfo'] === undefined ? {} : record(request['userInfo'], 'request.userInfo');
  return {
    uid,
    operation,
    resource: {
      group: text(resource, 'group'),
      version: text(resource, 'version'),
      resource: text(resource, 'resource'),
    },
    name: text(request, 'name'),
    namespace: text(request, 'namespace') || undefined,
    username: text(user, 'username'),
    user: userOf(user),
    dryRun: request['dryRun'] === true,
    object: objectOf(request['object'], 'request.object'),
    oldObject: objectOf(request['oldObject'], 'request.oldObject'),
  };
}

/** The answer to a review. */
export function admissionAnswer(uid: string, verdict: AdmissionVerdict): object {
  const warnings = (verdict.warnings ?? []).map((text) => text.slice(0, 256));
  const common = { uid, allowed: verdict.allowed, ...(warnings.length > 0 ? { warnings } : {}) };
  const response = verdict.allowed
    ? common
    : {
        ...common,
        status: {
          code: statusOf[verdict.reason ?? 'Invalid'],
          reason: verdict.reason ?? 'Invalid',
          message: verdict.message,
        },
      };
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
}

function userOf(user: Record<string, unknown>): UserInfo {
  const texts = (value: unknown): string[] =>
    Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
  const { username, uid, groups, extra } = user;
  const more = typeof extra === 'object' && extra !== null && !Array.isArray(extra) ? Object.entries(extra) : [];
  return {
    username: typeof username === 'string' ? username : '',
    ...(typeof uid === 'string' && uid !== '' ? { uid } : {}),
    groups: texts(groups),
    extra: Object.fromEntries(more.map(([key, values]) => [key, texts(values)])),
  };
}

function objectOf(value: unknown, field: string): KubeObject | undefined {
  if (value === null || value === undefined) return undefined;
  const object = record(value, field);
  record(object['metadata'], `${field}.metadata`);
  return object as unknown as KubeObject;
}

function record(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(field, 'not an object');
  return value as Record<string, unknown>;
}

function invalid(field: string, why: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `${field}: ${why}`);
}
