import { generateKeyPairSync, createHmac, sign as signBytes, constants, createPublicKey } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { agentEmail, agentRules, audience, startMinterWorld, type MinterWorld } from '../testing/minter-world/world.ts';
import { testKey } from '../testing/minter-world/keys.ts';
import { rawRequest } from '../testing/minter-world/raw-request.ts';
import { costs, expectRefusal } from '../testing/minter-world/refusals.ts';
import { askToken, startMinter, untilReady, type RunningMinter } from '../testing/minter-world/running-minter.ts';
import { until } from '../testing/until.ts';

let world: MinterWorld;
let minter: RunningMinter;

beforeAll(async () => {
  world = await startMinterWorld();
  await world.writeRules({ '.yaml': agentRules() });
  minter = await startMinter(world, { env: { APP_JWT_REUSE_SECONDS: '0' } });
  await untilReady(minter);
  await until('the readiness', minter.readiness, {
    good: (report) => report.checks.every((check) => check.status === 'True'),
  });
});

afterAll(async () => {
  await minter.stop();
  await world.stop();
});

type Claims = Record<string, unknown>;
const good = (more: Claims = {}): Claims => world.issuer.claims(agentEmail, audience, more);
const without = (name: string): Claims => {
  const claims = good();
  delete claims[name];
  return claims;
};
const now = (): number => Math.floor(Date.now() / 1000);
const b64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const unsigned = (header: unknown, signature = ''): string => `${b64(header)}.${b64(good())}.${signature}`;
const signedWith = (header: object, make: (input: Buffer) => Buffer, claims: unknown = good()): string => {
  const input = `${b64(header)}.${b64(claims)}`;
  return `${input}.${make(Buffer.from(input)).toString('base64url')}`;
};
/** Claims as a raw JSON text, for numbers and repeats that JSON.stringify cannot write. */
const rawClaims = (edit: (text: string) => string): string => world.issuer.sign(edit(JSON.stringify(good())));

type Row = [sentence: string, status: number, token: () => string | undefined];

const shapes: Row[] = [
  ['refuses a request without the header', 401, () => undefined],
  ['refuses an empty header', 401, () => ''],
  ['refuses a header of spaces', 401, () => '   '],
  ['refuses a word that is not a JWT', 401, () => 'secret'],
  ['refuses two parts', 401, () => `${b64({ alg: 'RS256' })}.${b64({})}`],
  ['refuses five parts (an encrypted token)', 401, () => 'a.b.c.d.e'],
  ['refuses a Bearer prefix', 401, () => `Bearer ${world.issuer.sign(good())}`],
  ['refuses a token of more than 8 KiB', 401, () => world.issuer.sign(good({ pad: 'x'.repeat(9000) }))],
  ['refuses padding after the signature', 401, () => `${world.issuer.sign(good())}==`],
  ['refuses the plain base64 alphabet', 401, () => `${b64({ alg: 'RS256' })}.${b64(good())}.ab+/cd`],
  ['refuses a signature in a second spelling', 401, () => respelled(world.issuer.sign(good()))],
  ['refuses a header that is not JSON', 401, () => `${b64('{')}.${b64(good())}.AAAA`],
  ['refuses a payload that is a list', 401, () => world.issuer.sign('[1]')],
  ['refuses a payload with a byte-order mark', 401, () => world.issuer.sign(`\ufeff${JSON.stringify(good())}`)],
  [
    'refuses a payload nested a thousand deep',
    401,
    () => rawClaims((t) => t.replace('{', `{"x":${'['.repeat(1000)}${']'.repeat(1000)},`)),
  ],
];

const algorithms: Row[] = [
  ['refuses alg none', 401, () => unsigned({ alg: 'none', kid: 'key-1' }, 'AA')],
  ['refuses alg None', 401, () => unsigned({ alg: 'None', kid: 'key-1' }, 'AA')],
  ['refuses alg nOnE', 401, () => unsigned({ alg: 'nOnE', kid: 'key-1' }, 'AA')],
  ['refuses an empty signature', 401, () => unsigned({ alg: 'RS256', kid: 'key-1' })],
  ['refuses alg as a list', 401, () => unsigned({ alg: ['RS256'], kid: 'key-1' }, 'AA')],
  [
    'refuses HS256 with the public key as secret',
    401,
    () => {
      const secret = createPublicKey(testKey('issuer')).export({ type: 'spki', format: 'pem' });
      return signedWith({ alg: 'HS256', kid: 'key-1' }, (input) => createHmac('sha256', secret).update(input).digest());
    },
  ],
  [
    'refuses PS256 by the right key',
    401,
    () =>
      signedWith({ alg: 'PS256', kid: 'key-1' }, (input) =>
        signBytes('sha256', input, {
          key: testKey('issuer'),
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: 32,
        }),
      ),
  ],
  [
    'refuses RS384 by the right key',
    401,
    () => signedWith({ alg: 'RS384', kid: 'key-1' }, (input) => signBytes('sha384', input, testKey('issuer'))),
  ],
  [
    'refuses ES256 by another key',
    401,
    () =>
      signedWith({ alg: 'ES256', kid: 'key-1' }, (input) =>
        signBytes('sha256', input, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
      ),
  ],
  [
    'refuses EdDSA by another key',
    401,
    () =>
      signedWith({ alg: 'EdDSA', kid: 'key-1' }, (input) =>
        signBytes(null, input, generateKeyPairSync('ed25519').privateKey),
      ),
  ],
  [
    'refuses a signature by another RSA key',
    401,
    () => signedWith({ alg: 'RS256', kid: 'key-1' }, (input) => signBytes('sha256', input, testKey('stranger'))),
  ],
  [
    'refuses a changed payload under a good signature',
    401,
    () => {
      const [head, , signature] = world.issuer.sign(good()).split('.');
      return `${head}.${b64(good({ email: 'boss@proj.iam.gserviceaccount.com' }))}.${signature}`;
    },
  ],
];

const headers: Row[] = [
  [
    'refuses an embedded key',
    401,
    () => {
      const { n, e } = testKey('stranger').export({ format: 'jwk' });
      return signedWith({ alg: 'RS256', kid: 'key-1', jwk: { kty: 'RSA', n, e } }, (i) =>
        signBytes('sha256', i, testKey('stranger')),
      );
    },
  ],
  ['refuses jku and never asks it', 401, () => world.issuer.sign(good(), { jku: `${world.platform.apiBaseUrl}/app` })],
  ['refuses x5u and never asks it', 401, () => world.issuer.sign(good(), { x5u: `${world.platform.apiBaseUrl}/app` })],
  ['refuses x5c', 401, () => world.issuer.sign(good(), { x5c: ['AAAA'] })],
  ['refuses kid with a path', 401, () => world.issuer.sign(good(), { kid: '../../dev/null' })],
  ['refuses kid with SQL', 401, () => world.issuer.sign(good(), { kid: "' OR 1=1 --" })],
  ['refuses kid of 10 kB', 401, () => world.issuer.sign(good(), { kid: 'k'.repeat(10_000) })],
  ['refuses kid of 300 characters', 401, () => world.issuer.sign(good(), { kid: 'k'.repeat(300) })],
  ['refuses kid that is a number', 401, () => world.issuer.sign(good(), { kid: 1 })],
  ['refuses a token without kid', 401, () => world.issuer.sign(good(), { kid: undefined })],
  ['refuses kid __proto__', 401, () => world.issuer.sign(good(), { kid: '__proto__' })],
  ['refuses crit b64', 401, () => world.issuer.sign(good(), { crit: ['b64'], b64: false })],
  ['refuses crit exp', 401, () => world.issuer.sign(good(), { crit: ['exp'], exp: now() + 60 })],
  ['refuses b64 false without crit', 401, () => world.issuer.sign(good(), { b64: false })],
  ['refuses zip', 401, () => world.issuer.sign(good(), { zip: 'DEF' })],
  ['refuses a nested token', 401, () => world.issuer.sign(good(), { cty: 'JWT' })],
  ['refuses typ at+jwt', 401, () => world.issuer.sign(good(), { typ: 'at+jwt' })],
  [
    'refuses a repeated header member',
    401,
    () => {
      const head = '{"alg":"none","alg":"RS256","kid":"key-1"}';
      const input = `${b64(head)}.${b64(good())}`;
      return `${input}.${signBytes('sha256', Buffer.from(input), testKey('issuer')).toString('base64url')}`;
    },
  ],
];

const claims: Row[] = [
  ['refuses a token without exp', 401, () => world.issuer.sign(without('exp'))],
  ['refuses exp as text', 401, () => world.issuer.sign(good({ exp: String(now() + 600) }))],
  ['refuses exp 1e400', 401, () => rawClaims((t) => t.replace(/"exp":\d+/, '"exp":1e400'))],
  ['refuses a negative exp', 401, () => world.issuer.sign(good({ exp: -1 }))],
  ['refuses exp in the year 9999', 401, () => world.issuer.sign(good({ exp: 253402300799 }))],
  ['refuses exp with a fraction', 401, () => world.issuer.sign(good({ exp: now() + 600.5 }))],
  ['refuses exp null', 401, () => world.issuer.sign(good({ exp: null }))],
  [
    'refuses a token that expired a minute ago',
    401,
    () => world.issuer.sign(good({ iat: now() - 600, exp: now() - 60 })),
  ],
  ['refuses a lifetime of two hours', 401, () => world.issuer.sign(good({ exp: now() + 7200 }))],
  ['refuses a token without iat', 401, () => world.issuer.sign(without('iat'))],
  ['refuses iat in the future', 401, () => world.issuer.sign(good({ iat: now() + 300 }))],
  ['refuses iat two hours ago', 401, () => world.issuer.sign(good({ iat: now() - 7200 }))],
  ['refuses exp before iat', 401, () => world.issuer.sign(good({ iat: now() + 4, exp: now() + 2 }))],
  ['refuses nbf in the future', 401, () => world.issuer.sign(good({ nbf: now() + 300 }))],
  ['refuses nbf as text', 401, () => world.issuer.sign(good({ nbf: 'now' }))],
  ['refuses a token without aud', 401, () => world.issuer.sign(without('aud'))],
  ['refuses an empty list of audiences', 401, () => world.issuer.sign(good({ aud: [] }))],
  ['refuses two audiences', 401, () => world.issuer.sign(good({ aud: [audience, 'other'] }))],
  ['refuses another audience', 401, () => world.issuer.sign(good({ aud: 'https://elsewhere.example' }))],
  ['refuses a prefix of the audience', 401, () => world.issuer.sign(good({ aud: audience.slice(0, -1) }))],
  ['refuses the audience with a slash', 401, () => world.issuer.sign(good({ aud: `${audience}/` }))],
  ['refuses the audience with /token', 401, () => world.issuer.sign(good({ aud: `${audience}/token` }))],
  [
    'refuses the audience with an upper-case host',
    401,
    () => world.issuer.sign(good({ aud: audience.replace('minter', 'MINTER') })),
  ],
  ['refuses the audience without port', 401, () => world.issuer.sign(good({ aud: audience.replace(':8080', '') }))],
  ['refuses the audience inside other text', 401, () => world.issuer.sign(good({ aud: `x${audience}x` }))],
  ['refuses an audience that is a number', 401, () => world.issuer.sign(good({ aud: 8080 }))],
  ['refuses a token without iss', 401, () => world.issuer.sign(without('iss'))],
  ['refuses iss as number', 401, () => world.issuer.sign(good({ iss: 1 }))],
  ['refuses iss as list', 401, () => world.issuer.sign(good({ iss: [world.issuer.issuer] }))],
  [
    'refuses iss without scheme',
    401,
    () => world.issuer.sign(good({ iss: world.issuer.issuer.replace('http://', '') })),
  ],
  ...['http://169.254.169.254', 'http://localhost', 'file:///etc/passwd', 'http://10.0.0.1', 'http://[::1]'].map(
    (iss): Row => [`refuses iss ${iss}`, 401, () => world.issuer.sign(good({ iss }))],
  ),
  [
    'refuses a CI token with a matching email added',
    401,
    () => world.issuer.sign(good({ iss: 'https://token.actions.githubusercontent.com', repository: 'acme/gitops' })),
  ],
  [
    'refuses a Kubernetes service-account token',
    401,
    () => world.issuer.sign(good({ iss: 'https://kubernetes.default.svc', sub: 'system:serviceaccount:a:b' })),
  ],
  ['refuses a token without sub', 401, () => world.issuer.sign(without('sub'))],
  ['refuses an empty sub', 401, () => world.issuer.sign(good({ sub: '' }))],
  ['refuses sub as number', 401, () => world.issuer.sign(good({ sub: 7 }))],
  ['refuses a repeated claim', 401, () => rawClaims((t) => t.replace('{', `{"email":"${agentEmail}",`))],
  ['refuses email as list', 401, () => world.issuer.sign(good({ email: [agentEmail] }))],
  ['refuses email as object', 401, () => world.issuer.sign(good({ email: { value: agentEmail } }))],
  ['refuses email_verified as text', 401, () => world.issuer.sign(good({ email_verified: 'true' }))],
];

const identities: Row[] = [
  ['denies a token without email', 403, () => world.issuer.sign(without('email'))],
  ['denies an email that is not verified', 403, () => world.issuer.sign(good({ email_verified: false }))],
  ['denies an email without email_verified', 403, () => world.issuer.sign(without('email_verified'))],
  ['denies an empty email', 403, () => world.issuer.sign(good({ email: '' }))],
  ...[
    ['in upper case', agentEmail.toUpperCase()],
    ['with a tag', agentEmail.replace('@', '+x@')],
    ['with a trailing dot', `${agentEmail}.`],
    ['with a trailing space', `${agentEmail} `],
    ['with a NUL', `${agentEmail}\u0000`],
    ['with a look-alike letter', agentEmail.replace('a', '\u0430')],
    ['of another project', 'agent@other.iam.gserviceaccount.com'],
    ['that only contains the right one', `x${agentEmail}`],
  ].map(([what, email]): Row => [`denies an email ${what}`, 403, () => world.issuer.sign(good({ email }))]),
];

test.each([...shapes, ...algorithms, ...headers, ...claims, ...identities])('%s', async (_sentence, status, token) => {
  const text = token();
  const hits = world.issuer.hits;
  const answer = await expectRefusal(
    { world, minter },
    () => askToken(minter, text),
    [text ?? ''].filter((t) => t.length > 20),
  );
  expect(answer.status).toBe(status);
  expect(world.issuer.hits - hits).toBeLessThanOrEqual(1);
  if (status === 401) {
    expect(answer.headers.get('www-authenticate')).toBe('X-OIDC-Token');
    expect(JSON.parse(answer.text)).toMatchObject({
      error: 'invalid_token',
      message: 'the identity token is missing or not valid',
    });
  }
  expect(minter.audit.at(-1)).toMatchObject({
    decision: 'deny',
    code: status === 401 ? 'invalid_token' : 'scope_denied',
  });
});

test('refuses two identity headers', async () => {
  const before = costs({ world, minter });
  const token = world.issuer.sign(good());
  const answer = await rawRequest(
    minter.url,
    `POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-OIDC-Token: ${token}\r\nX-OIDC-Token: ${token}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
  );
  expect(answer.status).toBe(401);
  expect(costs({ world, minter })).toEqual(before);
});

test('refuses a good token of another issuer and never connects to its server', async () => {
  const connections: unknown[] = [];
  const stranger = createServer((socket) => void connections.push(socket.destroy()));
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
  const iss = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  const answer = await expectRefusal({ world, minter }, () => askToken(minter, world.issuer.sign(good({ iss }))));
  expect([answer.status, connections]).toEqual([401, []]);
  await new Promise((resolve) => stranger.close(resolve));
});

test('refuses headers of 17 KiB before the application sees them', async () => {
  const audited = minter.audit.length;
  const answer = await rawRequest(
    minter.url,
    `POST /token HTTP/1.1\r\nHost: x\r\nX-OIDC-Token: ${'a'.repeat(17 * 1024)}\r\n\r\n`,
  );
  expect(answer.status).toBe(431);
  expect(minter.audit).toHaveLength(audited);
});

test('admits a good token, also three seconds after its expiry and with a list of one audience', async () => {
  for (const more of [{}, { iat: now() - 600, exp: now() - 3 }, { aud: [audience] }]) {
    expect((await askToken(minter, world.issuer.sign(good(more)))).status).toBe(200);
  }
});

/** The same signature bytes with other spare bits in the last letter. */
function respelled(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(token.at(-1)!);
  return token.slice(0, -1) + alphabet[last ^ 1]!;
}
