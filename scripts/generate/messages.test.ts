import { messageModule } from './messages.ts';

const schema = `// A schema of boxes.
syntax = "proto3";
// Something closed.
message Box {
  // What is written on it,
  // if anything is.
  string name = 1;
  // Grams.
  optional double net_weight = 2;
  repeated Item items = 3;
  repeated uint32 sizes = 4;
  map<string, string> labels = 5;
  Kind kind = 6;
  Item first = 7 [json_name = "first_item"];
}
message Item { bool broken = 1; }
message Crate { fixed32 seal = 1; }
enum Kind { KIND_UNSPECIFIED = 0; PAPER = 1; }`;

const path = 'src/a/b/box.proto';

test('a generated writer leaves out empty strings and absent members, and packs lists of numbers', () => {
  const code = messageModule(schema, { path, writes: ['Box'] });
  expect(code).toContain("import type { WireWriter } from '../../base/wire/protobuf-wire.ts';");
  expect(code).toContain('if (name) out.string(1, name);');
  expect(code).toContain('if (netWeight !== null) out.double(2, netWeight);');
  expect(code).toContain('for (const one of items) out.message(3, (w) => writeItem(w, one));');
  expect(code).toContain('out.message(4, (w) => sizes.forEach((one) => w.rawVarint(one)))');
  expect(code).toContain('out.uint(6, numbersOfKind[kind]);');
  expect(code).toContain('if (first_item !== null) out.message(7,');
});

test('generated types have the comments of the schema', () => {
  const code = messageModule(schema, { path, writes: ['Box'] });
  expect(code).toContain(`
/** Something closed. */
export interface Box {
  /**
   * What is written on it,
   * if anything is.
   */
  readonly name: string;
  /** Grams. */
  readonly netWeight: number | null;
  readonly items: readonly Item[];
`);
  expect(code).toContain('\n\nexport interface Item {');
});

test('in a sparse schema any member may be absent', () => {
  const code = messageModule(schema, { path, writes: ['Box'], sparse: true });
  expect(code).toContain('  readonly items?: readonly Item[] | undefined;');
  expect(code).toContain('for (const one of items ?? [])');
  expect(code).toContain('if (kind !== undefined) out.uint(6, numbersOfKind[kind]);');
});

test('a generated reader starts with the defaults of proto3, and skips unknown fields', () => {
  const code = messageModule(schema, { path, reads: ['Item'] });
  expect(code).toContain('let broken = false;');
  expect(code).toContain(
    '      case 8:\n        broken = reader.bool();\n        break;\n      default:\n        reader.skip(key & 7);',
  );
  expect(code).not.toContain('writeItem');
});

test('a field is refused if no reader exists for its type', () => {
  expect(() => messageModule(schema, { path, reads: ['Crate'] })).toThrow('.Crate.seal: how is a fixed32 read');
});
