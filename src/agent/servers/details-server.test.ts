import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentLogger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import { detailsRoutes } from './details-server.ts';

test.each(['start', 'end'])('a %s that is not a number of seconds is refused, not silently ignored', async (name) => {
  const routes = detailsRoutes({
    exemplars: { select: () => [] } as never,
    families: () => [],
    partition: { label: 'k8s_node_name', value: 'n1' },
    logger: silentLogger,
  });
  const route = routes.find(({ path }) => path === '/api/v1/query_exemplars')!;
  const server = createServer((req, res) => void route.serve(req, res, requestTarget(req))).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const ask = async (value: string): Promise<unknown[]> => {
    const query = new URLSearchParams({ query: 'x', [name]: value });
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${route.path}?${query}`);
    return [answer.status, ((await answer.json()) as { error?: string }).error];
  };
  expect(await ask('1700000000.5')).toEqual([200, undefined]);
  expect(await ask('2023-11-14T22:13:20Z')).toEqual([400, `${name}: must be a number of seconds`]);
  server.closeAllConnections();
  server.close();
});
