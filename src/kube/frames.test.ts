import { decodeFrames, type WatchFrame } from './frames.ts';

const frame = (name: string): string => `${JSON.stringify({ type: 'ADDED', object: { metadata: { name } } })}\n`;

async function* chunks(...parts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(typeof part === 'string' ? Buffer.from(part) : part);
}

async function names(source: AsyncIterable<Uint8Array>): Promise<string[]> {
  const found: string[] = [];
  for await (const { object } of decodeFrames(source)) {
    found.push((object as { metadata: { name: string } }).metadata.name);
  }
  return found;
}

test('two frames that arrive in one chunk are decoded as two', async () => {
  expect(await names(chunks(frame('a') + frame('b')))).toEqual(['a', 'b']);
});

test('a frame cut in the middle of a character is put together again', async () => {
  const bytes = Buffer.from(frame('grüße-日本'));
  expect(bytes.length).toBeGreaterThan('grüße-日本'.length);
  for (let at = 1; at < bytes.length; at++) {
    expect(await names(chunks(bytes.subarray(0, at), bytes.subarray(at)))).toEqual(['grüße-日本']);
  }
});

test('a frame may arrive in many chunks, and blank lines between frames are ignored', async () => {
  const text = frame('a') + '\n' + frame('b');
  expect(await names(chunks(...[...text]))).toEqual(['a', 'b']);
});

test.each([
  ['is not JSON', '{"type":"ADDED","obj\n'],
  ['has no object', '{"type":"ADDED"}\n'],
  ['has no type', '{"object":{}}\n'],
  ['is null', 'null\n'],
])('a frame that %s breaks the stream', async (_what, text) => {
  const seen: WatchFrame[] = [];
  const read = async (): Promise<void> => {
    for await (const f of decodeFrames(chunks(frame('ok'), text))) seen.push(f);
  };
  await expect(read()).rejects.toMatchObject({ code: 'ERR_WATCH_BROKEN' });
  expect(seen).toHaveLength(1);
});

test('a stream that ends inside a frame is broken; one that ends after a frame is not', async () => {
  await expect(names(chunks(frame('a'), '{"type":"ADD'))).rejects.toMatchObject({ code: 'ERR_WATCH_BROKEN' });
  expect(await names(chunks(frame('a')))).toEqual(['a']);
});

test('an endless frame is cut off at the size cap', async () => {
  const megabyte = Buffer.alloc(1024 * 1024, 0x61);
  let read = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      read++;
      yield await Promise.resolve(megabyte);
    }
  }
  await expect(names(endless())).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' });
  expect(read).toBe(17);
  const name = 'a'.repeat(16 * 1024 * 1024 - 100);
  expect(await names(chunks(frame(name)))).toEqual([name]);
});

test.each([
  ['in one chunk', [Infinity]],
  ['in two chunks', [1_000, Infinity]],
])('a complete frame beyond the size cap is refused if it arrives %s', async (_how, ends) => {
  const text = frame('a'.repeat(16 * 1024 * 1024));
  const parts = ends.map((end, i) => text.slice(ends[i - 1] ?? 0, end));
  const read = names(chunks(...parts)).then((found) => `${found.length} frames`);
  await expect(read).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' });
});
