/**
 * Access to the API server: one interface (`KubeClient`), one implementation over HTTP, predicates on its errors. It is
 * the only folder that imports `@kubernetes/client-node` (kubeconfig and authentication) and dot-i. It watches nothing
 * by itself: `src/runtime` does list, watch and recovery.
 */
export type * from './client.ts';
export type { WatchFrame } from './frames.ts';
export type { RequestObservation } from './transport.ts';
export * from './errors.ts';
export type { KubeClientOptions } from './rest-client.ts';
/** @internal The package exports the client only as this interface. */
export { createKubeClient, RestClient } from './rest-client.ts';
export { coreResources } from '../api/core-resources.ts';
export { describe, resourcePath } from './paths.ts';
export { getIfExists, listAll } from './reads.ts';
export { ApiReviews, reviewTokenFor } from './reviews.ts';
export { discover, kubernetesMinor, namespacedResources } from './discovery.ts';
