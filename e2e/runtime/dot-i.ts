import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta.ts';
import { ResourceEventType, type ResourceEvent } from '../../src/kube/dot-i.ts';
import { RuntimeOperator as Operator } from '../../src/runtime/dot-i-operator.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';

/**
 * An operator as one writes it for `@dot-i/k8s-operator`, but with another import: it uses only public and protected
 * members of that package, for a CRD from a file, a watch, a finalizer and a status.
 */
interface MyCustomResource extends KubeObject {
  spec: { foo: string; bar?: number };
  status?: { observedGeneration?: number };
}

class MyOperator extends Operator {
  readonly log: string[] = [];
  readonly #crd: string;

  constructor(crd: string) {
    super();
    this.#crd = crd;
  }

  protected override async init(): Promise<void> {
    const { group, versions, plural } = await this.registerCustomResourceDefinition(this.#crd);
    await this.watchResource(group, versions[0]!.name, plural, async (e) => {
      try {
        if (e.type === ResourceEventType.Added || e.type === ResourceEventType.Modified) {
          if (
            !(await this.handleResourceFinalizer(e, 'mycustomresources.dot-i.com', (event) => this.#deleted(event)))
          ) {
            await this.#modified(e);
          }
        }
      } catch (error) {
        this.log.push(`error ${String(error)}`);
        throw error;
      }
    });
    await this.watchResource('', 'v1', 'namespaces', (e) =>
      Promise.resolve(void this.log.push(`${e.type} ${e.meta.name}`)),
    );
  }

  async #modified(e: ResourceEvent): Promise<void> {
    const object = e.object as unknown as MyCustomResource;
    if (!object.status || object.status.observedGeneration !== object.metadata.generation) {
      this.log.push(`handle ${object.spec.foo}`);
      await this.setResourceStatus(e.meta, { observedGeneration: object.metadata.generation });
    }
  }

  #deleted(e: ResourceEvent): Promise<void> {
    this.log.push(`clean up ${e.meta.name}`);
    return Promise.resolve();
  }
}

/** Tests an operator that was written for the class of `@dot-i/k8s-operator`, on our class. */
export function dotI(of: () => Cluster): void {
  let cluster: Cluster;
  let operator: MyOperator;
  const before = process.env['KUBECONFIG'];

  beforeAll(async () => {
    cluster = of();
    process.env['KUBECONFIG'] = cluster.kubeconfig;
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const version = {
      name: 'v1',
      served: true,
      storage: true,
      schema: { openAPIV3Schema: schema },
      subresources: { status: {} },
    };
    const names = { kind: 'MyCustomResource', plural: 'mycustomresources', singular: 'mycustomresource' };
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'mycustomresources.dot-i.com' },
      spec: { group: 'dot-i.com', scope: 'Namespaced', names, versions: [version] },
    };
    const file = join(cluster.dir, 'crd.yaml');
    await writeFile(file, JSON.stringify(crd));
    operator = new MyOperator(file);
    await operator.start();
  });
  afterAll(async () => {
    await operator.stop();
    if (before === undefined) delete process.env['KUBECONFIG'];
    else process.env['KUBECONFIG'] = before;
  });

  test('an operator like the example of @dot-i/k8s-operator runs unchanged', async () => {
    const file = join(cluster.dir, 'cr.yaml');
    const resource = (foo: string): string =>
      JSON.stringify({
        apiVersion: 'dot-i.com/v1',
        kind: 'MyCustomResource',
        metadata: { name: 'one', namespace: 'default' },
        spec: { foo },
      });
    await writeFile(file, resource('first'));
    await cluster.kubectl(['apply', '-f', file]);
    await until('the first', async () => operator.log.includes('handle first'));
    await writeFile(file, resource('second'));
    await cluster.kubectl(['apply', '-f', file]);
    await until('the second', async () => operator.log.includes('handle second'));
    const path = 'jsonpath={.metadata.finalizers} {.status.observedGeneration} {.metadata.generation}';
    await until(
      'the status',
      async () =>
        (await cluster.kubectl(['get', 'mycustomresource', 'one', '-o', path])) ===
        '["mycustomresources.dot-i.com"] 2 2',
    );
    await cluster.kubectl(['delete', 'mycustomresource', 'one', '--timeout=20s']);
    expect(operator.log.filter((l) => l === 'clean up one')).toHaveLength(1);
    expect(operator.log).toContain('ADDED kube-system');
    expect(operator.log.filter((l) => l.startsWith('error'))).toEqual([]);
  });
}
