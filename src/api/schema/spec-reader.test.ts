import { Type } from '@sinclair/typebox';
import { shapeReader, specReader } from './spec-reader.ts';

const spec = Type.Object({
  pattern: Type.Optional(Type.String({ maxLength: 4, minLength: 1, pattern: '^[a-z]+$' })),
  mode: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['A', 'B'] })),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 5 })),
  list: Type.Optional(Type.Array(Type.String({ pattern: '^a$', maxLength: 4 }), { minItems: 1, maxItems: 2 })),
  map: Type.Optional(
    Type.Unsafe<object>({
      type: 'object',
      minProperties: 1,
      maxProperties: 1,
      additionalProperties: { type: 'integer', maximum: 5 },
    }),
  ),
});
const read = shapeReader<object>(spec);

test.each([
  { pattern: 'A-1' },
  { pattern: '' },
  { mode: 'C' },
  { count: 0 },
  { count: 6 },
  { list: ['b'] },
  { list: [] },
  { map: { a: 6 } },
  { map: {} },
])('%j is read, because only the API server knows whether it was stored before a rule became stricter', (value) => {
  expect(read(value)).toEqual({ spec: value });
});

test.each<[object, string, string]>([
  [{ pattern: 'abcde' }, 'spec.pattern', 'has 5 characters, at most 4 are allowed'],
  [{ pattern: 5 }, 'spec.pattern', 'must be a text, is 5'],
  [{ count: '1' }, 'spec.count', 'must be a whole number, is "1"'],
  [{ list: ['a', 'a', 'a'] }, 'spec.list', 'has 3 members, at most 2 are allowed'],
  [{ list: [1] }, 'spec.list[0]', 'must be a text, is 1'],
  [{ map: { a: 1, b: 2 } }, 'spec.map', 'has 2 members, at most 1 are allowed'],
  [{ map: { a: 'x' } }, 'spec.map.a', 'must be a whole number, is "x"'],
])('%j is refused for its types and sizes', (value, field, reason) => {
  expect(read(value)).toEqual({ fault: { field, reason } });
});

test.each<[object, string, string]>([
  [{ pattern: 'A-1' }, 'spec.pattern', '"A-1" does not match ^[a-z]+$'],
  [{ pattern: '' }, 'spec.pattern', 'must not be empty'],
  [{ mode: 'C' }, 'spec.mode', '"C" is none of A, B'],
  [{ count: 0 }, 'spec.count', '0 is less than 1'],
  [{ count: 6 }, 'spec.count', '6 is more than 5'],
  [{ list: [] }, 'spec.list', 'has 0 members, at least 1 are needed'],
  [{ map: {} }, 'spec.map', 'has 0 members, at least 1 are needed'],
])('%j is refused where the whole schema counts', (value, field, reason) => {
  expect(specReader<object>(spec)(value)).toEqual({ fault: { field, reason } });
});
