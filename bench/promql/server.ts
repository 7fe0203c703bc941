/**
 * Our engine behind a minimal HTTP server that answers query and query_range, as a process of its own:
 *   node bench/promql/server.ts FILE
 * Prints its port. `stats` in the answer has the time of the evaluation in ms.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Engine, parse } from '../../src/promql/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import { renderQueryData } from '../../src/query/json/render.ts';
import { querySettingTable } from '../../src/query/settings.ts';
import { warmUpQueries } from '../../src/query/warm-up.ts';
import { readChunkFile } from './chunk-file.ts';
import { ChunkSource } from './chunk-source.ts';

const source = new ChunkSource(readChunkFile(process.argv[2]!));
const engine = new Engine();

const server = createServer((request, response) => {
  const url = new URL(request.url!, 'http://localhost');
  const param = (name: string): number => Number(url.searchParams.get(name)) * 1000;
  const query = url.searchParams.get('query') ?? '';
  // The clock starts after parsing, as in the timing that Prometheus reports.
  const expr = parse(query);
  const before = performance.now();
  const run = url.pathname.endsWith('query_range')
    ? engine.range(expr, param('start'), param('end'), param('step'), { source })
    : engine.instant(expr, param('time'), { source });
  run.then(
    ({ value }) => {
      const stats = { evaluation: performance.now() - before };
      response.setHeader('content-type', 'application/json');
      response.write('{"status":"success","data":');
      for (const piece of renderQueryData(value, stats)) response.write(piece);
      response.end('}');
    },
    (error: Error) => response.writeHead(422).end(JSON.stringify({ status: 'error', error: error.message })),
  );
});
// The same warm-up as that of `svc query` before it listens.
await warmUpQueries(querySettingTable.warmUp.parse(querySettingTable.warmUp.default!), systemClock);
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
