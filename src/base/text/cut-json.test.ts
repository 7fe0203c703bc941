import fc from 'fast-check';
import { CutJson } from './cut-json.ts';

const lists = ['data[]', 'data.result[]', 'data.result[].values[]'];

const isList = (value: unknown): value is unknown[] => Array.isArray(value);
const member = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null | undefined)?.[name];

/** Reads a text that arrives in parts of the given lengths, and puts the elements back into the lists of the result. */
function readInParts(text: string, lengths: readonly number[] = []) {
  const [listed, result, samples]: unknown[][] = [[], [], []];
  const pieces: number[] = [];
  const json = new CutJson({
    lists,
    onElements: (list, elements) => {
      if (list === 'data.result[].values[]') {
        samples!.push(...elements);
        pieces.push(elements.length);
      } else if (list === 'data[]') listed!.push(...elements);
      else {
        expect(elements).toHaveLength(1);
        const values = member(elements[0], 'values');
        if (isList(values)) values.push(...samples!.splice(0));
        result!.push(...elements);
      }
    },
  });
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  for (const length of lengths) json.add(bytes.subarray(at, (at += length)));
  json.add(bytes.subarray(at));
  const whole = json.end();
  const data = member(whole, 'data');
  const inner = member(data, 'result');
  if (isList(data)) data.push(...listed!);
  else if (isList(inner)) inner.push(...result!);
  return { whole, pieces };
}

test('a text is read as JSON.parse reads it, however it is cut on its way', () => {
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(fc.string({ unit: 'grapheme' }), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null)),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('', 'data', 'result', 'values', '"[', '\\'), tie('json'), { maxKeys: 3 }),
    ),
  }));
  const sample = fc.tuple(fc.integer(), fc.string());
  const series = fc.record({ metric: json, values: fc.oneof(fc.array(sample), json) }, { requiredKeys: [] });
  const result = fc.oneof(fc.array(series), json);
  const data = fc.oneof(fc.record({ resultType: json, result }, { requiredKeys: [] }), fc.array(json), json);
  const answer = fc.oneof(fc.record({ status: json, data, warnings: json }, { requiredKeys: [] }), json);
  fc.assert(
    fc.property(answer, fc.array(fc.nat(20)), fc.constantFrom(0, 1), (value, lengths, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(readInParts(text, lengths).whole).toEqual(JSON.parse(text));
    }),
    { numRuns: 2_000 },
  );
});

test('a long list is parsed in pieces of about 64 KiB', () => {
  const values = Array.from({ length: 20_000 }, (_, i) => [i, `${i}`]);
  const { pieces } = readInParts(JSON.stringify({ data: { result: [{ values }] } }));
  expect(pieces.length).toBeGreaterThan(3);
  expect(Math.max(...pieces)).toBeLessThan(10_000);
});

test.each([
  ['', /JSON/],
  ['{"data":[1,2]', /ends too early/],
  [`{"data":[${'['.repeat(2_000)}`, /nested deeper than 1000/],
  [`{"other":${'['.repeat(2_000)}`, /nested deeper than 1000/],
  ['{"data":[1,2]}}', /brackets/],
  ['{"data":[1,2}]', /brackets/],
  ['{"data":[[1,2}]}', /JSON/],
  ['{"data":[1,]}', /JSON/],
  ['{"data":{"result":[{},]}}', /element is missing/],
  ['{"data":[1 2]}', /JSON/],
  ['{"data":[1],"status" "success"}', /JSON/],
  ['{"data":["x]}', /ends too early/],
  [`{"data":["${'x'.repeat(5_000_000)}"]}`, /a part of more than/],
  [`{"data":[],"more":"${'x'.repeat(5_000_000)}"}`, /a part of more than/],
])('malformed or oversized text %# is refused', (text, why) => {
  expect(() => readInParts(text, [3, 70_000])).toThrow(SyntaxError);
  expect(() => readInParts(text)).toThrow(why);
});
