import fc from 'fast-check';
import { lineColumns } from './errors.ts';

test('lines and columns of offsets are counted from the start of the text, columns in bytes of UTF-8', () => {
  const text = fc.array(fc.constantFrom('\n', 'a', 'é', '語', '😀')).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, (all) => {
      const place = lineColumns(all);
      for (let offset = 0; offset <= all.length; offset++) {
        const lines = all.slice(0, offset).split('\n');
        expect(place(offset)).toBe(`${lines.length}:${Buffer.byteLength(lines.at(-1)!) + 1}`);
      }
    }),
    { seed: 7 },
  );
});
