/**
 * Runs in the network namespace of an agent's pod, whose loopback address takes OTLP, and posts metrics there.
 * Shape: a line of standard input is `{id, body}` with the protobuf in base64; a line of output is `{id, status}`,
 * where 0 stands for no answer, and for a 200 that refuses some of the points.
 */
import { createInterface } from 'node:readline';

/** How long a post waits for its answer, as the instrument's exporter does. Units: ms. */
const patienceMs = 10_000;

async function post(body: Uint8Array<ArrayBuffer>): Promise<number> {
  try {
    const answer = await fetch('http://127.0.0.1:4318/v1/metrics', {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf' },
      body,
      signal: AbortSignal.timeout(patienceMs),
    });
    // The body of a 200 reports points that were refused.
    const { byteLength } = await answer.arrayBuffer();
    return answer.status === 200 && byteLength > 0 ? 0 : answer.status;
  } catch {
    return 0;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, body } = JSON.parse(line) as { id: number; body: string };
  void post(Buffer.from(body, 'base64')).then((status) => process.stdout.write(`${JSON.stringify({ id, status })}\n`));
}
