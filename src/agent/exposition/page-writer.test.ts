import { PageWriter } from './page-writer.ts';

test('strings of any length and alphabet, and bytes, come out in the order of writing', () => {
  const out = new PageWriter();
  const long = 'x'.repeat(300_000);
  out.text('a');
  out.text('é€😀');
  out.bytes(Uint8Array.of(66));
  out.text(long);
  expect(out.full).toBe(true);
  expect(Buffer.from(out.take()).toString()).toBe(`aé€😀B${long}`);
  expect(out.empty).toBe(true);
  for (const text of ['é', '€', '😀', 'a😀']) {
    for (const times of [1, 63, 64, 65, 1_000, 100_000]) {
      out.text('a');
      out.text(text.repeat(times));
      expect(Buffer.from(out.take()).toString() === `a${text.repeat(times)}`).toBe(true);
    }
  }
});

test('the next chunk lies in the memory of the chunk before', () => {
  const out = new PageWriter();
  out.text('first');
  const chunk = out.take();
  expect(Buffer.from(chunk).toString()).toBe('first');
  out.text('second');
  const next = out.take();
  expect(Buffer.from(next).toString()).toBe('second');
  expect(next.buffer).toBe(chunk.buffer);
});
