import { decoderModule, type MessageRule } from './emit.ts';

const schema = `syntax = "proto3";
message Box {
  string name = 1;
  optional double weight = 2;
  repeated Item items = 3;
  fixed32 seal = 4;
}
message Item { bool broken = 1; }`;

const box = (rule: Partial<MessageRule>): string =>
  decoderModule(schema, { imports: {}, messages: { Box: { returns: 'Box', fields: {}, ...rule } } });

test('a field is checked against the wire type of the schema, and fields without a rule are skipped', () => {
  const code = box({ fields: { name: 'name' } });
  expect(code).toContain("case 1:\n        expectWire(cursor, 'name', wireType, 2);\n        name = nameField(");
  expect(code).not.toContain('case 2:');
  expect(code).toContain('default:\n        message.skip(wireType);');
});

test('an optional scalar starts as null, every other scalar as the zero of its type', () => {
  const code = box({ fields: { name: 'name', weight: 'weight' } });
  expect(code).toContain("let name = '';\n  let weight: number | null = null;");
});

test('an element of a counted list is counted before it is read, and errors name its position', () => {
  const code = box({ fields: { items: { as: 'items', first: '[]', type: 'Item[]', counts: 'Item' } } });
  const steps = [
    'cursor.countItem();',
    "cursor.enter('items', items.length);",
    'items.push(readItem(cursor, message.message()));',
    'cursor.leave();',
  ];
  expect(code).toContain(steps.map((step) => `        ${step}\n`).join(''));
});

test('only names that the code uses are imported', () => {
  const imports = { './a.ts': ['expectWire', 'unused'], './b.ts': ['other'] };
  const code = decoderModule(schema, { imports, messages: { Box: { returns: 'Box', fields: { name: 'name' } } } });
  expect(code).toContain("import { expectWire } from './a.ts';");
  expect(code).not.toContain('./b.ts');
});

test('a rule is refused if the schema lacks its field, or if no reader exists for its type', () => {
  expect(() => box({ fields: { colour: 'colour' } })).toThrow('Box has no field colour');
  expect(() => box({ fields: { seal: 'seal' } })).toThrow('.Box.seal: how is a fixed32 read?');
});
