import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { agentEmail, agentRules, audience, startMinterWorld, type MinterWorld } from '../testing/minter-world/world.ts';
import { askToken, startMinter, untilReady, type RunningMinter } from '../testing/minter-world/running-minter.ts';

const run = promisify(execFile);
let dir: string;
let world: MinterWorld;
let minter: RunningMinter;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'git-'));
  const root = join(dir, 'root');
  for (const name of ['gitops', 'secret-plans']) {
    await mkdir(join(root, 'acme'), { recursive: true });
    await git('init', '--quiet', '--bare', join(root, 'acme', `${name}.git`));
  }
  await git('init', '--quiet', '-b', 'main', join(dir, 'work'));
  await writeFile(join(dir, 'work', 'file'), 'x');
  await git('-C', join(dir, 'work'), 'add', '.');
  await git('-C', join(dir, 'work'), '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'first');
  world = await startMinterWorld({ git: { root } });
  await world.writeRules({ '.yaml': agentRules() });
  minter = await startMinter(world);
  await untilReady(minter);
});

afterAll(async () => {
  await minter.stop();
  await world.stop();
  await rm(dir, { recursive: true, force: true });
});

function git(...args: string[]): Promise<unknown> {
  return run('git', args, { env: { PATH: process.env.PATH ?? '', HOME: dir, GIT_TERMINAL_PROMPT: '0' } });
}

async function mint(permissions: Record<string, string>): Promise<string> {
  const answer = await askToken(minter, world.issuer.token(agentEmail, audience), { permissions });
  expect(answer.status).toBe(200);
  return answer.text;
}

const remote = (token: string, name: string): string =>
  `${world.platform.gitBaseUrl.replace('http://', `http://x-access-token:${token}@`)}/acme/${name}.git`;
const push = (token: string, name: string): Promise<unknown> =>
  git('-C', join(dir, 'work'), 'push', '--quiet', remote(token, name), 'main');

async function api(token: string, method: string, path: string, body?: object): Promise<number> {
  const response = await fetch(`${world.platform.apiBaseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return response.status;
}

test('a token with contents: write pushes with a real git, only to its repository', async () => {
  const token = await mint({ contents: 'write' });
  await push(token, 'gitops');
  await expect(push(token, 'secret-plans')).rejects.toThrow(/not found/);
  await expect(git('ls-remote', remote(token, 'secret-plans'))).rejects.toThrow(/not found/);
});

test('a token with contents: read fetches and does not push', async () => {
  const token = await mint({ contents: 'read' });
  await git('-C', join(dir, 'work'), 'fetch', '--quiet', remote(token, 'gitops'), 'main');
  await expect(push(token, 'gitops')).rejects.toThrow(/error: 403/);
});

test('issues and pull requests need their own permission, and only work in the requested repository', async () => {
  const issues = await mint({ issues: 'write' });
  expect(await api(issues, 'POST', '/repos/acme/gitops/issues', { title: 'a' })).toBe(201);
  expect(await api(issues, 'POST', '/repos/acme/gitops/pulls', { title: 'a' })).toBe(403);
  expect(await api(issues, 'POST', '/repos/acme/extra/issues', { title: 'a' })).toBe(404);
  const pulls = await mint({ pull_requests: 'write' });
  expect(await api(pulls, 'POST', '/repos/acme/gitops/pulls', { title: 'a' })).toBe(201);
  expect(await api(pulls, 'POST', '/repos/acme/gitops/issues', { title: 'a' })).toBe(403);
  const read = await mint({ issues: 'read' });
  expect(await api(read, 'GET', '/repos/acme/gitops/issues')).toBe(200);
  expect(await api(read, 'POST', '/repos/acme/gitops/issues', { title: 'a' })).toBe(403);
});

test('a caller may end its token early', async () => {
  const token = await mint({ contents: 'write' });
  await push(token, 'gitops');
  expect(await api(token, 'DELETE', '/installation/token')).toBe(204);
  await expect(push(token, 'gitops')).rejects.toThrow(/Authentication failed|could not read/);
});
