import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { closeServer, listen } from '../../net/listen.ts';
import { until } from '../../testing/until.ts';
import { createSelfMetrics } from '../self-metrics.ts';
import { counted } from './answers.ts';

test.each([
  ['succeeds', () => {}],
  [
    'fails',
    () => {
      throw new Error('the disk');
    },
  ],
])('a request counts with its status where its work %s after all of its answer was sent', async (_, end) => {
  const { remoteReadRequests: requests, remoteReadInflight: inflight } = createSelfMetrics({ node: 'n', version: '0' });
  const server = createServer((_req, res) => {
    const serve = async (): Promise<void> => {
      res.end();
      await once(res, 'close');
      end();
    };
    void counted(res, { requests, inflight }, serve, () => {});
  });
  const port = await listen('answers', server, { host: '127.0.0.1', port: 0 });
  request({ port, host: '127.0.0.1' }).end();
  const codes = async () => (await requests.get()).values.map(({ labels }) => labels.code);
  await until('the count', async () => (await codes()).length > 0);
  await closeServer(server, 0);
  expect(await codes()).toEqual(['200']);
});
