import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { startQueryStage, type QueryStage } from '../../src/testing/query/query-stage.ts';
import type { ApiParams } from '../../src/testing/query/api-client.ts';
import { watchedObjects } from '../../src/testing/query/watched-objects.ts';
import { AddressIndex } from '../../src/query/addresses/address-index.ts';
import { openApiDocument, schemasOf } from './openapi.ts';

const document = openApiDocument();
const conditions = [{ type: 'Ready', status: 'True', reason: 'Programmed', message: '', observedGeneration: 2 }];
const meta = { generation: 2, creationTimestamp: '2026-01-01T00:00:00Z', labels: { team: 'shop' } };
const objects = {
  TrafficMonitor: [
    {
      metadata: { name: 'checkout', namespace: 'shop', ...meta },
      spec: { selector: { matchLabels: { app: 'checkout' } }, capture: { ports: '8080' } },
      status: { conditions, pods: 1, failedNodes: [{ name: 'node-1', reason: 'NotAttached', message: 'no process' }] },
    },
  ],
  ClusterTrafficPolicy: [
    { metadata: { name: 'standard', ...meta }, spec: { limits: { maxSeriesPerNode: 1_000 } }, status: { conditions } },
  ],
  MinterDeployment: [{ metadata: { name: 'checkout', namespace: 'shop', ...meta }, spec: {}, status: { conditions } }],
  Node: ['node-1', 'node-9'].map((name) => ({ metadata: { name, ...meta }, status: { conditions: [] } })),
};
let stage: QueryStage;
beforeAll(async () => {
  const index = new AddressIndex();
  const facts = { uid: 'checkout-1', containers: ['web'], hostNetwork: false, ips: ['10.0.0.1'], ended: false };
  const owner = { kind: 'ReplicaSet', name: 'checkout-x' };
  const labels = { 'pod-template-hash': 'x', app: 'checkout' };
  const placed = { namespace: 'shop', name: 'checkout-1', nodeName: 'node-1', labels, owner, fromMs: 0 };
  index.setPod({ ...facts, ...placed, ports: [{ container: 'web', port: 8080 }] }, Date.now());
  stage = await startQueryStage({
    nodes: ['node-1', 'node-2'],
    addresses: { index, synced: true },
    objects: {
      kinds: watchedObjects(objects),
      namespaces: { synced: true, names: () => ['shop'] },
      labelledNamespaces: () => [{ name: 'shop', labels: {} }],
      reviews: { mayReadPods: async () => true, mayAccessResource: async () => true },
    },
  });
  const now = Date.now();
  for (let second = 120; second >= 0; second -= 10) {
    const requests = {
      __name__: 'http_server_request_duration_count',
      k8s_namespace_name: 'shop',
      k8s_deployment_name: 'checkout',
      k8s_pod_name: 'checkout-1',
      k8s_node_name: 'node-1',
      client_address: '203.0.113.7',
      http_response_status_code: '200',
    };
    stage.cluster.append('node-1', requests, now - second * 1_000, 1_000 - second);
    const bucket = { ...requests, __name__: 'http_server_request_duration_bucket' };
    for (const le of ['0.1', '+Inf'])
      stage.cluster.append('node-1', { ...bucket, le }, now - second * 1_000, 1_000 - second);
  }
});
afterAll(() => stage.close());

function validatorOf(path: string): ValidateFunction {
  const { get } = document.paths[path] as {
    get: { responses: Record<string, { content: Record<string, { schema: object }> }> };
  };
  const { schema } = get.responses[200]!.content['application/json']!;
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true }).addKeyword('components');
  return ajv.compile({ ...schema, components: document.components });
}

test.each<[string, ApiParams, string]>([
  ['/api/v1/topology', { window: '2m' }, 'checkout'],
  ['/api/v1/services', { window: '2m' }, 'checkout'],
  ...Object.keys(objects).map((kind): [string, ApiParams, string] => [
    '/api/v1/objects',
    { kind },
    kind === 'Node' ? 'no agent is expected there' : '2026-01-01',
  ]),
  ['/api/v1/explain', { namespace: 'shop', workload: 'checkout', kind: 'Deployment' }, 'TrafficMonitor shop/checkout'],
])('an answer of %s for %j matches its schema in the document', async (path, params, told) => {
  const { status, text } = await stage.ask(path, params);
  expect(status).toBe(200);
  const body = JSON.parse(text) as { data: unknown };
  const validate = validatorOf(path);
  validate(body);
  expect(validate.errors ?? []).toEqual([]);
  expect(JSON.stringify(body.data)).toContain(told);
  // The schemas are closed: a member that the document does not describe fails this test.
  expect(validate({ ...body, data: { another: true } })).toBe(false);
});

test.each(Object.keys(document.paths))(
  '%s is refused when one of its required parameters is missing, and answered with all of them',
  async (path) => {
    const { get } = document.paths[path] as {
      get: { parameters: { name: string; required?: boolean }[] };
    };
    const values: Record<string, string> = { kind: path.endsWith('objects') ? 'Node' : 'Deployment', window: '2m' };
    const required = get.parameters.filter((parameter) => parameter.required).map(({ name }) => name);
    const all = Object.fromEntries(required.map((name) => [name, values[name] ?? 'shop']));
    expect((await stage.ask(path, all)).status).toBe(200);
    const statuses = await Promise.all(
      required.map(async (name) => {
        const { [name]: _, ...others } = all;
        return (await stage.ask(path, others)).status;
      }),
    );
    expect(statuses).toEqual(required.map(() => 400));
  },
);

test('the document describes exactly the routes that the query server has for the page', () => {
  const app = readFileSync(join(import.meta.dirname, '../../src/query/api/app.ts'), 'utf8');
  const routed = [...app.matchAll(/\['(\/api\/v1\/[a-z_/]+)', 'GET', (?:page\.\w+|explain|topology)\]/g)].map(
    ([, path]) => path,
  );
  expect(Object.keys(document.paths).toSorted()).toEqual(routed.toSorted());
});

test('a type that no schema can describe is an error, and is not left out', () => {
  expect(() => schemasOf('export type A = Map<string, number>;')).toThrow('Map<string, number>: no schema');
  expect(schemasOf("/** Of two. */ export type A = 'x' | 'y'; export interface B { readonly a?: A | null }")).toEqual({
    A: { description: 'Of two.', type: 'string', enum: ['x', 'y'] },
    B: {
      type: 'object',
      properties: { a: { anyOf: [{ $ref: '#/components/schemas/A' }, { type: 'null' }] } },
      additionalProperties: false,
    },
  });
});
