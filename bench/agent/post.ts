import type { Receiver } from './process.ts';

/** Posts the request bodies of one export interval, ten at a time, as one instrument does. */
export async function postAll(receiver: Receiver, bodies: readonly Uint8Array[]): Promise<void> {
  const waiting = [...bodies];
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let body = waiting.pop(); body; body = waiting.pop()) await postOne(receiver, body);
    }),
  );
}

/** Errors: any answer but 200 without a body; a body would report rejected samples. */
export async function postOne(receiver: Receiver, body: Uint8Array): Promise<void> {
  const answer = await fetch(receiver.url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf' },
    body: body as Uint8Array<ArrayBuffer>,
    signal: AbortSignal.timeout(60_000),
  });
  const bytes = await answer.arrayBuffer();
  if (answer.status !== 200 || bytes.byteLength > 0) {
    const text = Buffer.from(bytes).toString('latin1').slice(0, 300);
    throw new Error(`${receiver.url} answered ${answer.status}: ${text}`);
  }
}
