/**
 * The right to read captured metrics by PromQL: `get` on this non-resource path, granted by `svc-promql-reader`.
 * It is not the path of a request. Kubernetes' own role `system:discovery` lets every authenticated user `get` all of
 * `/api/*`, so a review of `/api/v1/query` would let in whoever has any token at all.
 */
export const promqlReadPath = '/promql';
