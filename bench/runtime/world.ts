import { freePorts } from '../../e2e/cluster/ports.ts';
import { startCluster, type Cluster } from '../../e2e/cluster/cluster.ts';
import { resourceRef, type KubeObject } from '../../src/api/meta.ts';
import { createKubeClient, coreResources, type RestClient } from '../../src/kube/index.ts';
import { sumOf } from './subject.ts';

export const widgets = resourceRef({
  group: 'bench.svc.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
});

export interface Widget extends KubeObject {
  spec: { value: string };
  status?: { observedGeneration?: number; value?: string };
}

const text = { type: 'string' };
const object = (properties: object): object => ({ type: 'object', properties });
const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${widgets.plural}.${widgets.group}` },
  spec: {
    group: widgets.group,
    scope: 'Namespaced',
    names: { kind: widgets.kind, plural: widgets.plural, singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: widgets.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: object({
            spec: object({ value: text }),
            status: object({ observedGeneration: { type: 'integer', format: 'int64' }, value: text }),
          }),
        },
      },
    ],
  },
};

/** A real API server with the benchmark's CRD, and the requests that the benchmark itself sends to it. */
export class World {
  readonly cluster: Cluster;
  readonly client: RestClient;

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.client = createKubeClient({ kubeconfig: cluster.kubeconfig, userAgent: 'bench-driver' });
  }

  static async start(log: (line: string) => void): Promise<World> {
    const cluster = await startCluster({
      log,
      // Other controllers would watch ConfigMaps and Widgets, and take CPU from the measured programs without any use.
      controllerManagerFlags: ['--controllers=namespace-controller,serviceaccount-controller'],
    });
    const world = new World(cluster);
    await world.client.apply({ ...coreResources.customResourceDefinitions }, crd as unknown as KubeObject, {
      fieldManager: 'bench',
    });
    await cluster.kubectl(['wait', '--for=condition=Established', `crd/${crd.metadata.name}`, '--timeout=30s']);
    return world;
  }

  async createNamespace(name: string): Promise<void> {
    await this.client.create(coreResources.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  /** Creates the Widgets `w-0`, `w-1`, … in a namespace, 16 at a time. */
  async createWidgets(namespace: string, count: number): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let i = next++; i < count; i = next++) await this.client.create(widgets, widget(namespace, i, 'initial'));
    };
    await Promise.all(Array.from({ length: 16 }, worker));
  }

  async setValue(namespace: string, index: number, value: string): Promise<void> {
    const body = { spec: { value } };
    await this.client.patch(
      widgets,
      { namespace, name: `w-${index}` },
      { type: 'merge', body },
      { fieldManager: 'user' },
    );
  }

  /** How many writes to Widgets and ConfigMaps the API server has counted so far, from all clients. */
  async writes(): Promise<number> {
    const metrics = await this.cluster.api.request<string>('GET', '/metrics', undefined, { raw: true });
    const verbs = ['APPLY', 'PATCH', 'POST', 'PUT', 'DELETE'];
    const resources = ['configmaps', 'widgets'];
    return verbs
      .flatMap((verb) => resources.map((name) => [`verb="${verb}"`, `resource="${name}"`]))
      .reduce((sum, labels) => sum + sumOf(metrics, 'apiserver_request_total', labels), 0);
  }

  async freePort(): Promise<number> {
    const [port = 0] = await freePorts(1);
    return port;
  }

  async stop(): Promise<void> {
    await this.client.close();
    await this.cluster.stop();
  }
}

function widget(namespace: string, index: number, value: string): Widget {
  return {
    apiVersion: widgets.apiVersion,
    kind: widgets.kind,
    metadata: { name: `w-${index}`, namespace },
    spec: { value },
  };
}
