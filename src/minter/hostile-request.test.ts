import { gzipSync } from 'node:zlib';
import { agentEmail, agentRules, audience, startMinterWorld, type MinterWorld } from '../testing/minter-world/world.ts';
import { rawRequest } from '../testing/minter-world/raw-request.ts';
import { costs, expectRefusal } from '../testing/minter-world/refusals.ts';
import { askToken, startMinter, untilReady, type RunningMinter } from '../testing/minter-world/running-minter.ts';
import { until } from '../testing/until.ts';

let world: MinterWorld;
let minter: RunningMinter;
let token: string;

beforeAll(async () => {
  world = await startMinterWorld();
  await world.writeRules({
    '.yaml': agentRules(),
    'locked.yaml': agentRules(['locked'], 'boss@proj.iam.gserviceaccount.com'),
  });
  minter = await startMinter(world, { env: { APP_JWT_REUSE_SECONDS: '0' } });
  token = world.issuer.token(agentEmail, audience);
  await untilReady(minter);
  await until('the readiness', minter.readiness, {
    good: (report) => report.checks.every((check) => check.status === 'True'),
  });
});

afterAll(async () => {
  await minter.stop();
  await world.stop();
});

type BodyRow = [sentence: string, code: string, body: unknown];
const base = { org_name: 'acme', repositories: ['gitops'], scope: 'platform-agent-scope' };
const text = (edit: (json: string) => string): string => edit(JSON.stringify(base));

const bodies: BodyRow[] = [
  ['refuses an empty body', 'invalid_request', ''],
  ['refuses a list', 'invalid_request', '[]'],
  ['refuses a string', 'invalid_request', '"x"'],
  ['refuses null', 'invalid_request', 'null'],
  ['refuses bytes after the object', 'invalid_request', text((t) => `${t}{}`)],
  ['refuses a byte-order mark', 'invalid_request', text((t) => `\ufeff${t}`)],
  [
    'refuses malformed UTF-8',
    'invalid_request',
    Buffer.concat([Buffer.from('{"org_name":"ac'), Buffer.from([0xff]), Buffer.from('me"}')]),
  ],
  ['refuses comments', 'invalid_request', text((t) => `${t}//x`)],
  ['refuses an unknown member', 'invalid_request', { ...base, admin: true }],
  ['refuses a member in another case', 'invalid_request', { ...base, Org_Name: 'acme' }],
  ['refuses a repeated member', 'invalid_request', text((t) => t.replace('{', '{"scope":"other",'))],
  [
    'refuses a repeated member in another spelling',
    'invalid_request',
    text((t) => t.replace('{', '{"sc\\u006fpe":"other",')),
  ],
  [
    'refuses a repeated permission',
    'invalid_request',
    text((t) => t.replace('}', ',"permissions":{"contents":"read","contents":"write"}}')),
  ],
  ['refuses __proto__ as member', 'invalid_request', text((t) => t.replace('{', '{"__proto__":{"scope":"x"},'))],
  ['refuses constructor as member', 'invalid_request', text((t) => t.replace('{', '{"constructor":1,'))],
  ['refuses a body without scope', 'invalid_request', { ...base, scope: undefined }],
  ...[null, '', 7, ['platform-agent-scope'], 'x'.repeat(10_000), '-x', 'a b', 'a\u0000'].map((scope): BodyRow => [
    `refuses scope ${JSON.stringify(scope).slice(0, 20)}`,
    'invalid_request',
    { ...base, scope },
  ]),
  ['denies scope v1default', 'scope_denied', { ...base, scope: 'v1default' }],
  ['denies a scope in another case', 'scope_denied', { ...base, scope: 'Platform-Agent-Scope' }],
  ['refuses scope __proto__', 'invalid_request', { ...base, scope: '__proto__' }],
  ['denies scope constructor', 'scope_denied', { ...base, scope: 'constructor' }],
  ['denies scope toString', 'scope_denied', { ...base, scope: 'toString' }],
  ['denies another organisation', 'org_denied', { ...base, org_name: 'evil' }],
  ['denies the organisation in another case', 'org_denied', { ...base, org_name: 'Acme' }],
  ['denies organisation constructor', 'org_denied', { ...base, org_name: 'constructor' }],
  ...[null, 7, '', '../acme', 'acme/x', '-acme', 'acme-', '.', 'acme\u0000', 'a'.repeat(40), 'acme\n', '__proto__'].map(
    (org): BodyRow => [
      `refuses organisation ${JSON.stringify(org).slice(0, 20)}`,
      'invalid_request',
      { ...base, org_name: org },
    ],
  ),
  ...[undefined, null, 'gitops', {}, [], [1], [null], [''], ['*'], [['gitops']]].map((repositories): BodyRow => [
    `refuses repositories ${JSON.stringify(repositories) ?? 'missing'}`,
    'invalid_request',
    { ...base, repositories },
  ]),
  ...[
    'acme/gitops',
    '../x',
    '.',
    '..',
    'a/b',
    'gitops.git',
    'gitops.GIT',
    'git ops',
    'gitops\u0000',
    'a'.repeat(101),
    'git*',
    '%2e%2e',
    'gitöps',
  ].map((name): BodyRow => [
    `refuses repository ${JSON.stringify(name).slice(0, 20)}`,
    'invalid_request',
    { ...base, repositories: ['gitops', name] },
  ]),
  ['refuses one repository in two spellings', 'invalid_request', { ...base, repositories: ['gitops', 'GitOps'] }],
  [
    'refuses 11 repositories',
    'invalid_request',
    { ...base, repositories: Array.from({ length: 11 }, (_, i) => `r${i}`) },
  ],
  [
    'refuses 501 repositories',
    'invalid_request',
    { ...base, repositories: Array.from({ length: 501 }, (_, i) => `r${i}`) },
  ],
  [
    'refuses 5000 repeats of one repository',
    'invalid_request',
    { ...base, repositories: Array.from({ length: 5000 }, () => 'gitops') },
  ],
  [
    'refuses 10 000 repeats of one repository by their size',
    'payload_too_large',
    { ...base, repositories: Array.from({ length: 10_000 }, () => 'gitops') },
  ],
  ['denies a repository that is not listed', 'repository_denied', { ...base, repositories: ['secret-plans'] }],
  [
    'denies all when one of two is not listed',
    'repository_denied',
    { ...base, repositories: ['gitops', 'secret-plans'] },
  ],
  ['denies a listed repository in another case', 'repository_denied', { ...base, repositories: ['GitOps'] }],
  ['denies a repository whose own file refuses', 'scope_denied', { ...base, repositories: ['locked'] }],
  ['denies a repository whose file refuses, in another case', 'scope_denied', { ...base, repositories: ['Locked'] }],
  ['refuses empty permissions', 'invalid_request', { ...base, permissions: {} }],
  ...[null, [], 'write', { contents: 1 }, { contents: null }, { contents: ['read'] }].map((permissions): BodyRow => [
    `refuses permissions ${JSON.stringify(permissions)}`,
    'invalid_request',
    { ...base, permissions },
  ]),
  ['denies a higher permission', 'permission_denied', { ...base, permissions: { contents: 'admin' } }],
  ['denies an unknown permission', 'permission_denied', { ...base, permissions: { administration: 'read' } }],
  ['denies a level that does not exist', 'permission_denied', { ...base, permissions: { contents: 'own' } }],
  ['denies permission *', 'permission_denied', { ...base, permissions: { '*': 'read' } }],
  [
    'denies permission __proto__',
    'permission_denied',
    text((t) => t.replace(/}$/, ',"permissions":{"__proto__":"read"}}')),
  ],
  ['denies permission toString', 'permission_denied', { ...base, permissions: { toString: 'read' } }],
  [
    'denies permission with markup and does not repeat it',
    'permission_denied',
    { ...base, permissions: { '<img src=x>': 'read' } },
  ],
];

test.each(bodies)('%s', async (_sentence, code, body) => {
  const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const answer = await expectRefusal({ world, minter }, () => askToken(minter, token, sent), [token]);
  expect(JSON.parse(answer.text)).toMatchObject({ error: code });
  expect(answer.status).toBe({ invalid_request: 400, payload_too_large: 413 }[code] ?? 403);
  expect(answer.text).not.toContain('<img');
  expect(answer.text).not.toContain('boss@');
  expect(minter.audit.at(-1)).toMatchObject({ decision: 'deny', code });
});

test('an unknown scope and a rule that refuses get the same answer', async () => {
  const stranger = world.issuer.token('stranger@proj.iam.gserviceaccount.com', audience);
  const say = async (t: string, scope: string): Promise<string> => {
    const { status, text } = await askToken(minter, t, { scope });
    const { request_id: _, ...told } = JSON.parse(text) as Record<string, string>;
    return `${status} ${JSON.stringify(told).replaceAll(scope, 'SCOPE')}`;
  };
  const texts = await Promise.all([say(token, 'none'), say(stranger, 'none'), say(stranger, 'platform-agent-scope')]);
  expect(new Set(texts).size).toBe(1);
});

type HeaderRow = [sentence: string, status: number, headers: Record<string, string>];
const contentTypes: HeaderRow[] = [
  ['refuses text', 415, { 'content-type': 'text/plain' }],
  ['refuses a form', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
  ['refuses another charset', 415, { 'content-type': 'application/json; charset=utf-16' }],
  ['refuses an unknown parameter', 415, { 'content-type': 'application/json; profile=x' }],
  ['refuses a content encoding', 415, { 'content-encoding': 'gzip' }],
  ['refuses identity as content encoding', 415, { 'content-encoding': 'identity' }],
  ['refuses two content types', 415, { 'content-type': 'application/json, text/plain' }],
];

test.each(contentTypes)('%s', async (_sentence, status, headers) => {
  const answer = await expectRefusal({ world, minter }, () => askToken(minter, token, {}, { headers }), [token]);
  expect(answer.status).toBe(status);
});

test('accepts the charset UTF-8', async () => {
  const headers = { 'content-type': 'application/json; charset=UTF-8' };
  expect((await askToken(minter, token, {}, { headers })).status).toBe(200);
});

test.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('refuses %s on /token', async (method) => {
  const headers = { 'x-http-method-override': 'POST' };
  const answer = await expectRefusal({ world, minter }, () => askToken(minter, token, {}, { method, headers }), [
    token,
  ]);
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('POST');
});

test.each([
  '/token/',
  '/Token',
  '/TOKEN',
  '//token',
  '/token/x',
  '/%74oken',
  '/token;x',
  '/',
  '/metrics',
  '/readyz',
  '/livez',
  '/%',
])('answers 404 at %s', async (path) => {
  const answer = await expectRefusal({ world, minter }, () => askToken(minter, token, {}, { path }), [token]);
  expect(answer.status).toBe(404);
});

const head = (lines: string[]): string =>
  [
    'POST /token HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `X-OIDC-Token: ${token}`,
    ...lines,
    '',
    '',
  ].join('\r\n');

test.each<[string, number, () => string]>([
  ['refuses TRACE', 405, () => 'TRACE /token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
  ['refuses CONNECT', 405, () => 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['refuses an unknown method', 400, () => 'BREW /token HTTP/1.1\r\nHost: x\r\n\r\n'],
  [
    'refuses a length together with chunks',
    400,
    () => `${head(['Content-Length: 5', 'Transfer-Encoding: chunked'])}0\r\n\r\n`,
  ],
  ['refuses two lengths', 400, () => `${head(['Content-Length: 2', 'Content-Length: 3'])}{}`],
  ['refuses a negative length', 400, () => head(['Content-Length: -1'])],
  ['refuses bare line feeds', 400, () => head(['Content-Length: 2']).replaceAll('\r\n', '\n')],
  ['refuses a folded header', 400, () => head(['X-A: b\r\n c'])],
  ['refuses a request without host', 400, () => 'POST /token HTTP/1.1\r\nContent-Length: 0\r\n\r\n'],
  ['refuses a declared length over the cap without reading', 413, () => head(['Content-Length: 65537'])],
  [
    'refuses two Content-Type headers',
    415,
    () => `${head(['Content-Type: text/plain', 'Content-Length: 2', 'Connection: close'])}{}`,
  ],
  [
    'refuses a compressed body by its encoding',
    415,
    () =>
      `${head(['Content-Encoding: gzip', 'Content-Length: 40', 'Connection: close'])}${gzipSync('{}').toString('latin1')}`,
  ],
])('%s', async (_sentence, status, request) => {
  const before = costs({ world, minter });
  const answer = await rawRequest(minter.url, request());
  expect(answer.status).toBe(status);
  expect(answer.text).not.toMatch(/ghs_|eyJ/);
  expect(costs({ world, minter })).toEqual(before);
});

test('refuses endless chunks at the cap', async () => {
  const chunk = `1000\r\n${' '.repeat(4096)}\r\n`;
  const answer = await rawRequest(minter.url, head(['Transfer-Encoding: chunked']), { pour: chunk });
  expect(answer.status).toBe(413);
});

test('waits four seconds for a body that never arrives', async () => {
  const start = performance.now();
  const answer = await rawRequest(minter.url, `${head(['Content-Length: 100'])}{"org`);
  expect(answer.status).toBe(408);
  const took = performance.now() - start;
  expect(took).toBeGreaterThan(3_900);
  expect(took).toBeLessThan(9_000);
});

const hostile = 'a@b\n{"decision":"allow"}\u001b[2J\u2028\u009b';
test.each<[what: string, status: number, email: string, body: object, requestId: string | undefined, told: object]>([
  ['email', 403, hostile, {}, undefined, { email: hostile }],
  // A text that is not a valid scope name is refused before the audit line could show it.
  ['scope', 400, agentEmail, { scope: hostile }, undefined, { code: 'invalid_request', email: agentEmail }],
  ['organisation', 400, agentEmail, { org_name: hostile }, undefined, { code: 'invalid_request' }],
  ['repository', 400, agentEmail, { repositories: [hostile] }, undefined, { code: 'invalid_request' }],
  ['permission', 403, agentEmail, { permissions: { [hostile]: 'read' } }, undefined, { code: 'permission_denied' }],
  ['request id', 403, agentEmail, { scope: 'none' }, 'a b {"decision":"allow"}', { scope: 'none' }],
])('a hostile %s cannot forge an audit line', async (_what, status, email, body, requestId, told) => {
  const [before, linesBefore] = [minter.audit.length, minter.output().split('\n').length];
  const headers: Record<string, string> = requestId === undefined ? {} : { 'x-request-id': requestId };
  const answer = await askToken(minter, world.issuer.token(email, audience), body, { headers });
  expect(answer.status).toBe(status);
  expect(minter.audit).toHaveLength(before + 1);
  const written = minter
    .output()
    .trimEnd()
    .split('\n')
    .slice(linesBefore - 1);
  const lines = written.filter((line) => 'decision' in (JSON.parse(line) as object));
  expect(lines).toHaveLength(1);
  expect(written.join('')).not.toMatch(/[\u0000-\u001f\u2028\u009b]/);
  expect(JSON.parse(lines[0]!)).toMatchObject({ decision: 'deny', ...told });
  expect(JSON.parse(lines[0]!)).not.toHaveProperty('caller_request_id');
  if (!('email' in told)) expect(lines[0]).not.toContain('a@b');
});

test('copies a harmless request id into the audit line, never into the answer', async () => {
  const answer = await askToken(minter, undefined, {}, { headers: { 'x-request-id': 'run-42' } });
  expect(minter.audit.at(-1)).toMatchObject({ caller_request_id: 'run-42' });
  expect(answer.headers.get('x-request-id')).not.toBe('run-42');
});

test('/version shows the build and readiness and nothing that helps an attacker', async () => {
  const response = await fetch(`${minter.url}/version`);
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(Object.keys(JSON.parse(text) as object).sort()).toEqual(['commit', 'date', 'platform', 'ready', 'version']);
  for (const secret of ['projects/', String(world.appId), world.org, agentEmail, 'platform-agent-scope']) {
    expect(text).not.toContain(secret);
  }
  expect((await fetch(`${minter.url}/version`, { method: 'HEAD' })).status).toBe(200);
  const post = await fetch(`${minter.url}/version`, { method: 'POST' });
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('narrows permissions on request and drops repeated repositories', async () => {
  const answer = await askToken(minter, token, { repositories: ['gitops', 'gitops'], permissions: { issues: 'read' } });
  expect(answer.status).toBe(200);
  const issued = world.platform.state.tokens.get(answer.text);
  expect(issued?.repositories).toEqual(['gitops']);
  expect(issued?.permissions).toEqual({ issues: 'read', metadata: 'read' });
});
