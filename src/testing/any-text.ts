import fc from 'fast-check';

/** Of one to four bytes, none of them half of a pair: as many below 128 as above. */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0x80, max: 0x10_ff_ff - 0x8_00 }))
  .map((code) => String.fromCodePoint(code < 0xd8_00 ? code : code + 0x8_00));

/**
 * Texts of any characters, and of what trips up programs (`__proto__`, `toString`).
 * Units: `maxLength` in characters. Caveats: fast-check's own `unit: 'binary'` does the same and keeps a table of all
 * characters for it, a second of computing and 85 MB in each worker.
 */
export function anyText({ maxLength = 10 }: { maxLength?: number } = {}): fc.Arbitrary<string> {
  const characters = fc.array(character, { maxLength }).map((all) => all.join(''));
  return fc.oneof({ weight: 4, arbitrary: characters }, { weight: 1, arbitrary: fc.string({ maxLength }) });
}
