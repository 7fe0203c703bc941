import fc from 'fast-check';
import { encodeFrame, FrameCutter, readFrames } from './frames.ts';

const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 8 });

/** The bytes, cut at these places; a place beyond the end wraps around. */
function pieces(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return cuts.slice(1).map((cut, i) => bytes.subarray(cuts[i], cut));
}

test('frames are read back from a pushed and from a pulled stream, however the stream is cut', async () => {
  await fc.assert(
    fc.asyncProperty(messages, fc.array(fc.nat(), { maxLength: 6 }), async (sent, places) => {
      const parts = pieces(Buffer.concat(sent.map((message) => encodeFrame(message))), places);
      const pushed: Uint8Array[] = [];
      const cutter = new FrameCutter('test', 1_000, (message) => pushed.push(Uint8Array.from(message)));
      for (const part of parts) cutter.push(part);
      cutter.end();
      const pulled: Uint8Array[] = [];
      async function* stream(): AsyncGenerator<Uint8Array> {
        yield* parts;
      }
      for await (const message of readFrames(stream(), 'test')) pulled.push(Uint8Array.from(message));
      expect([pushed, pulled]).toEqual([sent, sent]);
    }),
  );
});

test('a message that is given in two pieces gives the same frame as the whole message', () => {
  const whole = encodeFrame(Buffer.from('abcdef'));
  expect(encodeFrame(Buffer.from('abc'), Buffer.from('def'))).toEqual(whole);
});

test('a changed byte, a cut stream, a length beyond the limit and an endless length are reported', () => {
  const frame = Buffer.from(encodeFrame(Buffer.from('message')));
  const cut = (bytes: Uint8Array, limit = 1_000) => {
    const cutter = new FrameCutter('test', limit, () => {});
    cutter.push(bytes);
    cutter.end();
  };
  for (let i = 1; i < frame.length; i++) {
    const changed = Buffer.from(frame);
    changed[i]! ^= 1;
    expect(() => cut(changed)).toThrow('test frame: checksum does not match');
  }
  for (let i = 1; i < frame.length; i++) {
    expect(() => cut(frame.subarray(0, i))).toThrow('test frame: stream ended inside a frame');
  }
  expect(() => cut(frame, 6)).toThrow('test frame: of 7 bytes, at most 6 allowed');
  expect(() => cut(Buffer.alloc(9, 0xff))).toThrow('test frame: length is not a frame length');
});

test('an error from the message callback passes through', () => {
  const cutter = new FrameCutter('test', 1_000, () => {
    throw new Error('enough');
  });
  expect(() => cutter.push(encodeFrame(Buffer.from('x')))).toThrow('enough');
});
