/**
 * The client among the workloads. It takes orders as lines on its standard input, sends the requests of an order one
 * after the other, over connections that stay open unless the order says otherwise, and prints a line for each answer
 * and one at the end of the order.
 */
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import type { CallOrder } from '../protocols.ts';
import type { TrafficOrder } from '../traffic.ts';
import { sendCalls } from './calls.ts';

const agents = {
  http: new HttpAgent({ keepAlive: true, maxSockets: 1 }),
  https: new HttpsAgent({ keepAlive: true, maxSockets: 1 }),
};

function send(
  { ip, port, tls }: TrafficOrder['target'],
  method: string,
  path: string,
  body: Buffer | null,
  closes: boolean,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const make = tls ? httpsRequest : httpRequest;
    const agent = closes ? false : tls ? agents.https : agents.http;
    const headers = body === null ? {} : { 'content-length': body.length };
    // Certificates are not verified: only the traffic matters here.
    const how = { agent, headers, timeout: 120_000, rejectUnauthorized: false };
    const req = make({ host: ip, port, method, path, ...how }, (res) => {
      res.resume();
      res.on('end', () => resolve(res.statusCode ?? 0));
      res.on('error', reject);
    });
    req.on('timeout', () => req.destroy(new Error('no answer within two minutes')));
    req.on('error', reject);
    req.end(body ?? undefined);
  });
}

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

async function follow(order: TrafficOrder | CallOrder): Promise<void> {
  await ('calls' in order ? sendCalls(order) : sendRequests(order));
  print({ done: order.id });
}

async function sendRequests({ target, requests }: TrafficOrder): Promise<void> {
  for (const { method, path, route, count, bytes, closes = false } of requests) {
    for (let i = 0; i < count; i++) {
      const started = performance.now();
      const body = bytes === undefined ? null : Buffer.alloc(bytes, 'x');
      const status = await send(target, method, path.replace('%', String(i)), body, closes);
      const seconds = (performance.now() - started) / 1_000;
      print({ to: target.name, port: target.port, tls: target.tls, method, status, route, seconds });
    }
  }
}

let last = Promise.resolve();
createInterface({ input: process.stdin }).on('line', (text) => {
  const order = JSON.parse(text) as TrafficOrder | CallOrder;
  last = last
    .then(() => follow(order))
    .catch((error: unknown) => print({ done: order.id, error: (error as Error).message }));
});
print({ listening: true });
