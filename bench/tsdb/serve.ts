/**
 * A process that serves remote read from a store over plain HTTP, to be measured from outside.
 * Arguments: the store's directory, and the time in ms at which its clock stands. Prints its port.
 */
import { createServer } from 'node:http';
import { silentLogger } from '../../src/base/logger.ts';
import { createRemoteReadHandler, openStore } from '../../src/tsdb/index.ts';
import { standingClock } from './series.ts';

const [dir, now] = process.argv.slice(2);
const store = await openStore({ dir: dir!, clock: standingClock(Number(now)), logger: silentLogger });
const handler = createRemoteReadHandler(store, { reusesParts: true });
const server = createServer((req, res) => {
  void (async () => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const answer = await handler({ headers: req.headers, body: Buffer.concat(parts) });
    res.writeHead(answer.status, answer.headers);
    for await (const part of answer.body) await new Promise((resolve) => res.write(part, resolve));
    res.end();
  })();
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as { port: number }).port}\n`));
