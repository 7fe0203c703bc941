import { choice, integer, list, map, object, opaque, optional, text } from './build.ts';
import { structuralSchema } from './crd.ts';

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
