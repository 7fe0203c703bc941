import { jest } from '@jest/globals';

Object.assign(globalThis, { sessionStorage: { getItem: () => null, setItem: () => {} } });
const { Lines, maxLine, messageOf, readStream } = await import('./stream.ts');
// The client reads the stored token when it is loaded, which another suite of this process may have done before.
const { setToken } = await import('./client.ts');
setToken('sesame');
afterAll(() => setToken(''));

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const line = (count: number): string =>
  JSON.stringify({ node: 'n', time: '2026-11-22T05:40:29.000000000Z', lost: { source: 'ring', count } });
const read = async (signal = new AbortController().signal): Promise<{ counts: number[]; opened: number }> => {
  const counts: number[] = [];
  let opened = 0;
  for await (const batch of readStream({ number: 1 }, { signal, onOpen: () => opened++ })) {
    counts.push(...batch.map(({ lost }) => lost!.count));
  }
  return { counts, opened };
};
/** Makes `fetch` give this answer. The returned mock records the requests. */
const answering = (answer: () => Response) =>
  jest.spyOn(globalThis, 'fetch').mockImplementation(() => Promise.resolve(answer()));

afterEach(() => jest.restoreAllMocks());

test('lines are complete wherever the chunks were cut, even in the middle of a character', () => {
  const whole = bytes('{"a":"ü"}\n\n{"b":1}\n{"c"');
  expect(whole).toHaveLength(24);
  for (let cut = 0; cut <= whole.length; cut++) {
    const lines = new Lines();
    const got = [...lines.take(whole.subarray(0, cut)), ...lines.take(whole.subarray(cut))];
    expect([...got, ...lines.take(bytes(':2}\n'))]).toEqual(['{"a":"ü"}', '{"b":1}', '{"c":2}']);
  }
});

test('a line of a megabyte is accepted, and a longer one is refused before it ends', () => {
  const lines = new Lines();
  lines.take(bytes('x'.repeat(maxLine)));
  expect(lines.take(bytes('\ny'))).toEqual(['x'.repeat(maxLine)]);
  expect(() => lines.take(bytes('y'.repeat(maxLine)))).toThrow(expect.objectContaining({ kind: 'too-large' }));
});

test.each(['', 'null', '[]', '{"node":"n"}', '{"node":"n","time":"t","span":1}', '{"node":1,"time":"t","span":{}}'])(
  '%j is not a message of the stream',
  (text) => expect(() => messageOf(text)).toThrow(expect.objectContaining({ kind: 'refused' })),
);

test('the request carries the token, and each message arrives when it is sent', async () => {
  const sent = new TransformStream<Uint8Array, Uint8Array>();
  const writer = sent.writable.getWriter();
  const asked = answering(() => new Response(sent.readable));
  let opened = 0;
  const messages = readStream({ number: 1 }, { signal: new AbortController().signal, onOpen: () => opened++ });
  for (const count of [1, 2]) {
    void writer.write(bytes(`${line(count)}\n`));
    const { value } = await messages.next();
    expect([value, opened]).toEqual([[messageOf(line(count))], 1]);
  }
  void writer.close();
  expect(await messages.next()).toEqual({ done: true, value: undefined });
  const [path, init] = asked.mock.calls[0]!;
  expect([path, init!.method, init!.body]).toEqual(['v1/stream', 'POST', '{"number":1}']);
  expect(init!.headers).toMatchObject({ authorization: 'Bearer sesame' });
});

test('a refusal carries the message of the API', async () => {
  answering(() => Response.json({ status: 'error', error: 'path: not an RE2 pattern' }, { status: 400 }));
  await expect(read()).rejects.toMatchObject({ kind: 'refused', message: 'path: not an RE2 pattern' });
});

test('a stream that breaks off is a network failure, and an abort by the caller is not', async () => {
  const broken = (): Response =>
    new Response(new ReadableStream({ pull: (controller) => controller.error(new TypeError('network error')) }));
  answering(broken);
  await expect(read()).rejects.toMatchObject({ kind: 'network' });
  const ended = new AbortController();
  ended.abort(new Error('not wanted any more'));
  await expect(read(ended.signal)).rejects.not.toHaveProperty('kind');
});
