/**
 * The way to the API server: one port (`KubeClient`), one implementation over HTTP, predicates on its errors.
 * It is the only folder that imports `@kubernetes/client-node` (kubeconfig and authentication) and dot-i.
 * It watches nothing by itself: list, watch and recovery are the work of `src/runtime`.
 */
export type * from './client.ts';
export type { WatchFrame } from './frames.ts';
export type { RequestObservation } from './transport.ts';
export * from './errors.ts';
export type { KubeClientOptions } from './rest-client.ts';
/** @internal The package gives the client as the port alone. */
export { createKubeClient, RestClient } from './rest-client.ts';
export { coreResources } from './core-resources.ts';
export { describe, nameOf, resourcePath } from './paths.ts';
export { getIfExists, listAll } from './reads.ts';
export { ApiReviews, reviewTokenFor, type ReviewOptions } from './reviews.ts';
export { discover } from './discovery.ts';
