/**
 * What `svc-operator/testing` exports: the kit for testing controllers, which needs no test runner in particular.
 * The list of every name is in `surface/testing.txt`.
 */
export * from '../testing/index.ts';
export type { FaultScript } from '../testing/fake-api-server/faults.ts';
export type { StoredEvent, Storage, WriteMeta } from '../testing/fake-api-server/storage.ts';
