import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { GeneratedFile } from './generated-file.ts';
import { yamlOf } from './yaml.ts';

const source = 'src/api/page/types.ts';
const root = join(import.meta.dirname, '../..');

/** A schema object of OpenAPI 3.1, which is JSON Schema 2020-12. */
export type Schema = Record<string, unknown>;

interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
  readonly required?: boolean;
}

interface Operation {
  readonly path: string;
  readonly summary: string;
  readonly parameters: readonly Parameter[];
  /** Name of the type of `data`, and whether `data` is a list of it. */
  readonly data: { readonly type: string; readonly isList?: boolean };
}

const text: Schema = { type: 'string' };
const time: Schema = { oneOf: [{ type: 'number' }, { type: 'string', format: 'date-time' }] };
const duration: Schema = { type: 'string', pattern: '^([0-9]+(ms|[smhdwy]))+$|^[0-9]+(\\.[0-9]+)?$' };
const window = (fallback: string): Parameter[] => [
  { name: 'end', description: 'End of the window: seconds since the epoch or RFC 3339. Default: now.', schema: time },
  { name: 'start', description: 'Its begin, in the same forms. Excludes `window`.', schema: time },
  { name: 'window', description: `Its length, 1m to 1d. Default: ${fallback}.`, schema: duration },
];

const operations: readonly Operation[] = [
  {
    path: '/api/v1/topology',
    summary: 'Who talks to whom in a window of time.',
    parameters: [
      ...window('5m'),
      { name: 'by', description: 'What a node stands for.', schema: { $ref: '#/components/schemas/TopologyGrouping' } },
      { name: 'namespace', description: 'Only edges with an end in this namespace.', schema: text },
      {
        name: 'format',
        description: 'What `data` is: `Topology`, or the two frames of Grafana’s node graph.',
        schema: { enum: ['json', 'grafana'], default: 'json' },
      },
    ],
    data: { type: 'Topology' },
  },
  {
    path: '/api/v1/services',
    summary: 'Every workload with its numbers in a window, or why there are none.',
    parameters: window('1h'),
    data: { type: 'ServiceSummary', isList: true },
  },
  {
    path: '/api/v1/objects',
    summary: 'The objects of a kind that the caller may list, with their conditions.',
    parameters: [
      {
        name: 'kind',
        description: 'The kind to list.',
        schema: { $ref: '#/components/schemas/ObjectKind' },
        required: true,
      },
    ],
    data: { type: 'Objects' },
  },
  {
    path: '/api/v1/explain',
    summary: 'Why the pods of a workload are captured or not, and where each setting comes from.',
    parameters: [
      { name: 'namespace', description: 'Of the workload.', schema: text, required: true },
      { name: 'workload', description: 'Its name.', schema: text, required: true },
      { name: 'kind', description: 'Kind of the owner, such as `Deployment`.', schema: text, required: true },
    ],
    data: { type: 'WorkloadExplanation' },
  },
];

/** The OpenAPI document of the API by which the page reads from a query server. */
export function openApiFiles(): GeneratedFile[] {
  return [{ path: 'docs/reference/openapi.yaml', content: yamlOf(openApiDocument()) }];
}

/** Makes the document. Reads the source of the described types from disk; otherwise pure. */
export function openApiDocument(): { paths: Record<string, unknown>; components: { schemas: Record<string, Schema> } } {
  return {
    ...{ openapi: '3.1.0' },
    ...{
      info: {
        title: 'svc-query: what the page reads',
        version: 'v1',
        description:
          'Beside these paths the query server has Prometheus’ HTTP API. Callers are authorized as there: by a token, and with tenancy by their namespaces.',
      },
      security: [{ token: [] }, {}],
    },
    paths: Object.fromEntries(operations.map((operation) => [operation.path, { get: described(operation) }])),
    components: {
      schemas: { ...schemasOf(readFileSync(join(root, source), 'utf8')), Error: error },
      ...{ securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    },
  };
}

function described({ summary, parameters, data }: Operation): object {
  const one = { $ref: `#/components/schemas/${data.type}` };
  const failed = {
    description: 'The request was refused or could not be answered; `error` says why.',
    content: json(ref('Error')),
  };
  return {
    summary,
    parameters: parameters.map((parameter) => ({ in: 'query', ...parameter })),
    responses: {
      200: { description: 'The answer.', content: json(envelope(data.isList ? { type: 'array', items: one } : one)) },
      default: failed,
    },
  };
}

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: Schema): object => ({ 'application/json': { schema } });
const texts: Schema = { type: 'array', items: text };

/** The schema of a whole answer, with its `data`. */
function envelope(data: Schema): Schema {
  return {
    type: 'object',
    required: ['status', 'data', 'degraded', 'missingNodes'],
    properties: {
      status: { const: 'success' },
      data,
      degraded: { type: 'boolean', description: 'The data of at least one node is missing from the answer.' },
      missingNodes: { ...texts, description: 'Names of those nodes, sorted.' },
      warnings: texts,
      infos: texts,
    },
  };
}

const error: Schema = {
  type: 'object',
  required: ['status', 'errorType', 'error'],
  properties: {
    status: { const: 'error' },
    errorType: { ...text, description: 'As in Prometheus’ HTTP API: `bad_data`, `timeout`, `unavailable` …' },
    error: { ...text, description: 'What is wrong, with the parameter’s name where there is one.' },
  },
};

/**
 * Schemas of all exported types of a module that has no imports, with their docstrings.
 * Errors: throws for a type that it cannot describe, so that none is left out in silence.
 */
export function schemasOf(module: string): Record<string, Schema> {
  const file = ts.createSourceFile('types.ts', module, ts.ScriptTarget.ES2024, true);
  const schemas: Record<string, Schema> = {};
  for (const statement of file.statements) {
    if (ts.isInterfaceDeclaration(statement)) {
      schemas[statement.name.text] = { ...docOf(statement), ...objectOf(statement.members) };
    } else if (ts.isTypeAliasDeclaration(statement)) {
      schemas[statement.name.text] = { ...docOf(statement), ...schemaOf(statement.type) };
    } else throw new Error(`${statement.getText().slice(0, 60)}: neither an interface nor a type`);
  }
  return schemas;
}

function objectOf(members: ts.NodeArray<ts.TypeElement>): Schema {
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const member of members) {
    if (!ts.isPropertySignature(member) || member.type === undefined) throw new Error(member.getText());
    const name = member.name.getText();
    properties[name] = { ...schemaOf(member.type), ...docOf(member) };
    if (member.questionToken === undefined) required.push(name);
  }
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, additionalProperties: false };
}

function schemaOf(type: ts.TypeNode): Schema {
  if (ts.isParenthesizedTypeNode(type)) return schemaOf(type.type);
  if (ts.isArrayTypeNode(type)) return { type: 'array', items: schemaOf(type.elementType) };
  if (ts.isTypeOperatorNode(type)) return schemaOf(type.type);
  if (ts.isTypeLiteralNode(type)) return objectOf(type.members);
  if (ts.isUnionTypeNode(type)) return unionOf(type.types);
  if (ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal)) return { const: type.literal.text };
  switch (type.getText()) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return { type: type.getText() };
    case 'unknown':
      return {};
    case 'Readonly<Record<string, unknown>>':
      return { type: 'object' };
  }
  if (ts.isTypeReferenceNode(type) && type.typeArguments === undefined) return ref(type.typeName.getText());
  throw new Error(`${type.getText()}: no schema for such a type`);
}

function unionOf(types: readonly ts.TypeNode[]): Schema {
  const all = types.map(schemaOf);
  if (all.every((one) => 'const' in one)) return { type: 'string', enum: all.map((one) => one['const']) };
  const simple = all.every(({ type, ...rest }) => typeof type === 'string' && Object.keys(rest).length === 0);
  return simple ? { type: all.map(({ type }) => type) } : { anyOf: all };
}

function docOf(node: ts.Node): { description?: string } {
  const texts = ts.getJSDocCommentsAndTags(node).map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '');
  const description = texts.join(' ').replaceAll(/\s+/g, ' ').trim();
  return description === '' ? {} : { description };
}
