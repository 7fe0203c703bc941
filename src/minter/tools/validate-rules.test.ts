import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { agentEmail, agentRules } from '../../testing/minter-world/world.ts';
import { validateRules, type ValidateRulesOptions } from './validate-rules.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'minter-rules-'));
});
afterEach(() => rm(dir, { recursive: true }));

const request = { org: 'acme', repo: ['gitops'], scope: 'platform-agent-scope' };

async function validate(
  files: Record<string, string>,
  options: Partial<ValidateRulesOptions> = {},
): Promise<{ code: number; out: string }> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  let out = '';
  const write = (text: string): void => void (out += text);
  const all = { allowWildcard: false, org: '', repo: [], scope: '', issuer: 'https://accounts.google.com', ...options };
  return { code: await validateRules(dir, all, { env: {}, stdout: write, stderr: write, clock: systemClock }), out };
}

async function claims(fields: Record<string, unknown>): Promise<string> {
  const path = join(dir, 'claims.json');
  const all = { iss: 'https://accounts.google.com', email: agentEmail, email_verified: true, ...fields };
  await writeFile(path, JSON.stringify(all));
  return path;
}

test('lists files and scopes in force with what they permit', async () => {
  const { code, out } = await validate({ '.yaml': agentRules(), 'gitops.yaml': agentRules(['gitops']) });
  expect(out).toContain('gitops.yaml: in force, 1 scope(s)\n');
  expect(out).toContain('.yaml: scope platform-agent-scope: gitops extra: contents:write');
  expect(code).toBe(0);
});

test('names file, line and scope of a fault and ends with 1', async () => {
  const { code, out } = await validate({ '.yaml': agentRules().replace('assertion.email in', 'assertion.mail in') });
  expect(out).toMatch(/\.yaml:\d+: FAULT in scope "platform-agent-scope": .*mail/);
  expect(code).toBe(1);
});

test('an empty directory denies every request and is a failure', async () => {
  const { code, out } = await validate({});
  expect(out).toContain('no rule is in force: every request would be denied');
  expect(code).toBe(1);
});

test.each<[string, Record<string, unknown>, Partial<ValidateRulesOptions>, number, RegExp]>([
  ['the agent that the rules name', {}, {}, 0, /^ADMITTED: contents:write/m],
  ['another email', { email: 'x@proj.iam.gserviceaccount.com' }, {}, 1, /^DENIED: scope_denied/m],
  ['an email that is not verified', { email_verified: false }, {}, 1, /^DENIED: scope_denied/m],
  ['another issuer', { iss: 'https://evil.example' }, {}, 1, /^DENIED: scope_denied/m],
  ['a repository outside the scope', {}, { repo: ['secret'] }, 1, /^DENIED: repository_denied/m],
  ['an unknown scope', {}, { scope: 'other' }, 1, /^DENIED: scope_denied/m],
])('explains the decision for %s', async (_case, fields, options, code, line) => {
  const result = await validate({ '.yaml': agentRules() }, { ...request, ...options, token: await claims(fields) });
  expect(result.out).toMatch(line);
  expect(result.out).toContain('decided by .yaml');
  expect(result.code).toBe(code);
});

test.each([
  ['--org', { ...request, org: 'a/b' }],
  ['--scope', { ...request, scope: '' }],
  ['--repo', { ...request, repo: [] }],
  ['--repo', { ...request, repo: ['../x'] }],
])('a request with an invalid %s is refused, and the error names the flag', async (flag, options) => {
  const run = validate({ '.yaml': agentRules() }, { ...options, token: await claims({}) });
  await expect(run).rejects.toThrow(flag);
});

test('an unreadable directory or claims file is refused, and the error names it', async () => {
  const io = { env: {}, stdout: () => {}, stderr: () => {}, clock: systemClock };
  const options = { allowWildcard: false, issuer: 'https://accounts.google.com', ...request };
  await expect(validateRules(join(dir, 'none'), options, io)).rejects.toThrow(/the directory cannot be read/);
  await expect(validateRules(dir, { ...options, token: join(dir, 'none') }, io)).rejects.toThrow(/--token/);
});
