import { choice, integer, list, map, object, opaque, optional, text } from './build.ts';
import { generation, observedGeneration } from './common.ts';
import { objectSchema, structuralSchema } from './crd.ts';
import type { KindDefinition } from './kind.ts';
import { resourceRef } from '../meta.ts';

describe('structuralSchema', () => {
  test('requires the members that are neither optional nor defaulted by the API server', () => {
    const schema = object('Top.', {
      given: text('A.', { maxLength: 1 }),
      filled: choice('B.', ['X', 'Y'], { default: 'X' }),
      free: optional(text('C.', { maxLength: 1 })),
    });
    expect(structuralSchema(schema)).toMatchObject({ required: ['given'] });
  });

  test('omits an empty list of required members, at any depth', () => {
    const inner = object('In.', { n: integer('N.', { minimum: 0, maximum: 9, default: 1 }) });
    const schema = structuralSchema(
      object('Top.', {
        one: optional(inner),
        many: optional(list('L.', inner, { maxItems: 2 })),
        named: optional(map('M.', inner, { maxProperties: 2 })),
      }),
    );
    const text = JSON.stringify(schema);
    expect(text.match(/"n":/g)).toHaveLength(3);
    expect(text).not.toContain('required');
  });

  test('keeps nothing of the schema builder that is not plain data', () => {
    const schema = structuralSchema(object('Top.', { any: opaque<{ a: 1 }>('Any.') }));
    expect(schema).toStrictEqual({
      type: 'object',
      description: 'Top.',
      required: ['any'],
      properties: { any: { type: 'object', description: 'Any.', 'x-kubernetes-preserve-unknown-fields': true } },
    });
    const any = (schema['properties'] as Record<string, object>)['any']!;
    expect([schema, any].flatMap((part) => Object.getOwnPropertySymbols(part))).toEqual([]);
  });
});

describe('the default of the status, which an API server accepts only if it is a valid status', () => {
  const statusOf = (status: KindDefinition['status']): unknown => {
    const resource = resourceRef({ group: 'a.b', version: 'v1', kind: 'Top', plural: 'tops', namespaced: true });
    const names = {
      listKind: 'TopList',
      singular: 'top',
      shortNames: [],
      categories: [],
      product: 'tops',
      columns: [],
    };
    const spec = object('Spec.', {});
    return (objectSchema({ resource, ...names, description: 'Top.', spec, status })['properties'] as { status: object })
      .status;
  };
  const phase = text('Phase.', { maxLength: 9 });

  test('is observedGeneration -1 where the status has that member and requires no other', () => {
    const unseen = { default: { observedGeneration: -1 } };
    expect(statusOf(object('S.', { observedGeneration: optional(observedGeneration) }))).toMatchObject(unseen);
    expect(statusOf(object('S.', { observedGeneration, phase: optional(phase) }))).toMatchObject(unseen);
    const filled = choice('Filled.', ['X'], { default: 'X' });
    expect(statusOf(object('S.', { observedGeneration, filled }))).toMatchObject(unseen);
  });

  test('is absent where the status has no such member, or one that is no integer', () => {
    expect(statusOf(object('S.', { phase }))).not.toHaveProperty('default');
    expect(statusOf(object('S.', { observedGeneration: phase }))).not.toHaveProperty('default');
    expect(statusOf(opaque('Any.'))).not.toHaveProperty('default');
  });

  test.each([
    ['another required member', { observedGeneration, phase }, 'status.phase is required'],
    ['a minimum above -1', { observedGeneration: generation('Seen.') }, 'status.observedGeneration does not admit -1'],
  ])('%s is an error that names the member and the remedy', (_what, members, message) => {
    expect(() => statusOf(object('S.', members))).toThrow(
      expect.objectContaining({ code: 'ERR_INPUT_INVALID', message: expect.stringContaining(`Top: ${message}`) }),
    );
  });
});
