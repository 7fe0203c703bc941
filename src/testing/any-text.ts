import fc from 'fast-check';

/** A character of one to four UTF-8 bytes, never a lone surrogate. About half of the characters are ASCII. */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0x80, max: 0x10_ff_ff - 0x8_00 }))
  .map((code) => String.fromCodePoint(code < 0xd8_00 ? code : code + 0x8_00));

/**
 * Strings of any characters, and strings that trip up programs (`__proto__`, `toString`). Units: `maxLength` in
 * characters. fast-check's own `unit: 'binary'` does the same, but builds a table of all characters, which costs a
 * second of CPU time and 85 MB in each worker.
 */
export function anyText({ maxLength = 10 }: { maxLength?: number } = {}): fc.Arbitrary<string> {
  const characters = fc.array(character, { maxLength }).map((all) => all.join(''));
  return fc.oneof({ weight: 4, arbitrary: characters }, { weight: 1, arbitrary: fc.string({ maxLength }) });
}
