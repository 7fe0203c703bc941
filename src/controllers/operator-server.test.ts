import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { closeServer, listen } from '../net/listen.ts';
import { TokenAuth } from '../net/auth/token-auth.ts';
import { Health } from '../runtime/index.ts';
import { createOperatorServer } from './operator-server.ts';

const reviewed: string[] = [];
const server = createOperatorServer(
  { liveness: new Health(), readiness: new Health(), metricsText: () => Promise.resolve('up 1\n') },
  new TokenAuth({
    clock: new FakeClock(),
    logger: silentLogger,
    loopbackExempt: false,
    reviews: {
      reviewToken: async (token) => (token === 'bad' ? undefined : { username: token }),
      mayAccessPath: async ({ username }, verb, path) => {
        reviewed.push(`${username} ${verb} ${path}`);
        return username === 'scraper';
      },
    },
  }),
);
let base: string;
beforeAll(async () => {
  base = `http://127.0.0.1:${await listen('metrics', server, { host: '127.0.0.1', port: 0 })}`;
});
afterAll(() => closeServer(server, 0));
beforeEach(() => void (reviewed.length = 0));

const get = async (path: string, token?: string): Promise<[number, string]> => {
  const headers = { connection: 'close', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const answer = await fetch(base + path, { headers });
  return [answer.status, await answer.text()];
};

test.each<[string, string | undefined, number, RegExp, reviewed: string[]]>([
  ['no token', undefined, 401, /send one as "Authorization: Bearer …"/, []],
  ['a token that is not valid', 'bad', 401, /not valid/, []],
  [
    'a token without the right',
    'anna',
    403,
    /anna may not get \/metrics: .* ClusterRole svc-metrics-reader grants it/,
    ['anna get /metrics'],
  ],
  ['a token with the right', 'scraper', 200, /^up 1$/m, ['scraper get /metrics']],
])("the answer to a request for the operator's metrics with %s", async (_what, token, status, text, reviews) => {
  const [answered, said] = await get('/metrics', token);
  expect([answered, said]).toEqual([status, expect.stringMatching(text)]);
  expect(reviewed).toEqual(reviews);
});

test("the operator's probes need no token", async () => {
  expect([(await get('/livez'))[0], (await get('/readyz'))[0]]).toEqual([200, 200]);
  expect(reviewed).toEqual([]);
});
