import { createServer } from 'node:http';
import { closeServer, listen } from '../../net/listen.ts';
import { answerText } from './answers.ts';
import { routed, type Route } from './routes.ts';

const named = (path: string, methods?: readonly string[]): Route => ({
  path,
  ...(methods ? { methods } : {}),
  serve: (_req, res, target) => answerText(res, 200, 'text/plain', `${path} serves ${target.path}`),
});
const server = createServer(routed([named('/a/', undefined), named('/a/whole', ['GET', 'PUT'])]));
let url = '';
beforeAll(
  async () => void (url = `http://127.0.0.1:${await listen('routes', server, { host: '127.0.0.1', port: 0 })}`),
);
afterAll(() => closeServer(server, 0));

test.each([
  ['a whole path takes precedence over a prefix', 'GET', '/a/whole?x=1', 200, '/a/whole serves /a/whole'],
  ['every other path below a prefix belongs to it', 'POST', '/a/other', 200, '/a/ serves /a/other'],
  ['a path without a route is not found', 'GET', '/a', 404, '{"code":"not_found","message":"no such path"}'],
  ['the error 405 names the methods served', 'POST', '/a/whole', 405, expect.stringContaining('use GET, PUT')],
])('%s', async (_, method, path, status, body) => {
  const answer = await fetch(url + path, { method });
  expect([answer.status, await answer.text()]).toEqual([status, body]);
});

test('the answer to a refused method has the header Allow, which lists the served ones', async () => {
  const answer = await fetch(`${url}/a/whole`, { method: 'DELETE' });
  expect(answer.headers.get('allow')).toBe('GET, PUT');
});
