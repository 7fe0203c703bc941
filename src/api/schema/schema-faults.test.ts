import { firstSchemaFault, schemaFaults } from './schema-faults.ts';

/** Members that note when they are looked at. */
function watched(count: number): { members: Record<string, unknown>; looks: () => number } {
  let looks = 0;
  const members = {};
  for (let i = 0; i < count; i++) {
    Object.defineProperty(members, String(i), { enumerable: true, get: () => (looks++, i) });
  }
  return { members, looks: () => looks };
}
const text = { type: 'string', maxLength: 4 };

const tooMany = [{ field: 'spec.x', reason: 'has 3 members, at most 2 are allowed' }];

test('of a list with too many members, no member is checked', () => {
  expect(schemaFaults({ type: 'array', maxItems: 2, items: text }, [1, 2, 3], 'spec.x')).toEqual(tooMany);
});

test('of an object with too many members, no member is looked at', () => {
  const { members, looks } = watched(3);
  const schema = { type: 'object', maxProperties: 2, additionalProperties: text };
  expect(schemaFaults(schema, members, 'spec.x')).toEqual(tooMany);
  expect(looks()).toBe(0);
});

test('the first fault is found without a look at what follows it', () => {
  const schema = { type: 'array', items: { type: 'object', additionalProperties: text } };
  const { members, looks } = watched(1);
  const value = [{ a: 'long text' }, members];
  expect(firstSchemaFault(schema, value, 'spec')).toEqual({
    field: 'spec[0].a',
    reason: 'has 9 characters, at most 4 are allowed',
  });
  expect(looks()).toBe(0);
  expect(schemaFaults(schema, value, 'spec')).toHaveLength(2);
  expect(firstSchemaFault(schema, [{ a: 'text' }], 'spec')).toBeUndefined();
});

test('a message has only the beginning of a long text', () => {
  const [fault] = schemaFaults({ type: 'string', enum: ['a', 'b'] }, 'x'.repeat(1_000_000), 'spec.x');
  expect(fault!.reason).toMatch(/^"x{256}…" is none of a, b$/);
});
