import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { startQueryStage, type QueryStage } from '../../src/testing/query/query-stage.ts';
import { openApiDocument, schemasOf } from './openapi.ts';

const document = openApiDocument();
let stage: QueryStage;
beforeAll(async () => {
  stage = await startQueryStage({ nodes: ['node-1', 'node-2'] });
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

test.each(['/api/v1/topology', '/api/v1/services'])('an answer of %s is as the document says', async (path) => {
  const { status, text } = await stage.ask(path, { window: '2m' });
  expect(status).toBe(200);
  const body = JSON.parse(text) as { data: unknown };
  const validate = validatorOf(path);
  validate(body);
  expect(validate.errors ?? []).toEqual([]);
  expect(JSON.stringify(body.data)).toContain('checkout');
  // The schemas are closed: what they do not name is refused, so that they cannot fall behind in silence.
  expect(validate({ ...body, data: { another: true } })).toBe(false);
});

test('each path is one that the query server routes, and each it has of its own for the page is described', () => {
  const app = readFileSync(join(import.meta.dirname, '../../src/query/api/app.ts'), 'utf8');
  const routed = [...app.matchAll(/\['(\/api\/v1\/[a-z_/]+)', 'GET', (?:page\.\w+|explain|topology)\]/g)].map(
    ([, path]) => path,
  );
  expect(Object.keys(document.paths).toSorted()).toEqual(routed.toSorted());
});

test('a type that it cannot describe is an error, not a gap', () => {
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
