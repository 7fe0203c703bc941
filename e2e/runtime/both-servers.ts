import type { KubeObject } from '../../src/api/meta.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/index.ts';
import { FakeApiServer } from '../../src/testing/index.ts';
import type { Cluster } from '../cluster/cluster.ts';

/**
 * One of the two API servers, real or scripted, for tests that run on both. Its members exist only inside of tests and
 * hooks, not while the tests are declared.
 */
export interface OneServer {
  readonly real: boolean;
  readonly cluster: Cluster;
  readonly fake: FakeApiServer;
  readonly client: KubeClient;
}

/** Declares the same tests for the real and for the scripted API server. The namespaces are created on the real one. */
export function onBothServers(of: () => Cluster, namespaces: readonly string[], tests: (on: OneServer) => void): void {
  let fake: FakeApiServer;
  beforeAll(async () => {
    fake = await FakeApiServer.start();
    for (const namespace of namespaces) await of().kubectl(['create', 'namespace', namespace]);
  });
  afterAll(() => fake.stop());

  describe.each([
    ['the real server', true],
    ['the scripted server', false],
  ])('%s', (_which, real) => {
    let client: KubeClient;
    beforeAll(() => {
      client = real ? createKubeClient({ kubeconfig: of().kubeconfig }) : fake.client();
    });
    afterAll(() => client.close());
    tests({
      real,
      get cluster() {
        return of();
      },
      get fake() {
        return fake;
      },
      get client() {
        return client;
      },
    });
  });
}

/** What a promise rejects with; undefined if it resolves. */
export const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** A ConfigMap as tests of both servers write it. */
export const configMapIn =
  (namespace: string) =>
  (name: string, data: Record<string, string> = {}, meta: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, ...meta },
    data,
  });
