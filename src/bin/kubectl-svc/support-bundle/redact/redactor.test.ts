import fc from 'fast-check';
import { aReadyPod, aNode, anObject } from '../../../../testing/capture/cluster-view.ts';
import { clusterAddresses } from './addresses.ts';
import { Redactor } from './redactor.ts';

const nobody = { nodes: [], pods: [], services: [] };
const isOurs = clusterAddresses({
  nodes: [
    {
      ...aNode('node-1'),
      spec: { podCIDRs: ['10.244.1.0/24', 'fd00:10::/64'] },
      status: { addresses: [{ type: 'InternalIP', address: '192.168.5.11' }] },
    } as never,
  ],
  pods: [aReadyPod('shop/web', 'node-1', { status: { podIP: '10.99.0.7', hostIP: '192.168.5.11' } })],
  services: [anObject('v1', 'Service', 'shop/web', { spec: { clusterIP: '10.96.0.10', clusterIPs: ['fd00:96::a'] } })],
});
const redact = (text: string): string => new Redactor(isOurs).text(text);

const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const random = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...base64), minLength, maxLength });
/** A secret key as a program generates it: never a plain word. */
const key = (minLength: number): fc.Arbitrary<string> => random(minLength, minLength + 20).map((text) => `${text}Z9`);
const ipv4 = fc
  .tuple(...[fc.integer({ min: 11, max: 223 }), ...Array.from({ length: 3 }, () => fc.nat(255))])
  .map((parts) => parts.join('.'))
  .filter((address) => !isOurs(address));
const hex = fc.integer({ min: 1, max: 0xffff }).map((n) => n.toString(16));
const ipv6 = fc
  .tuple(hex, hex, fc.boolean())
  .map(([a, b, short]) => (short ? `2001:db8:${a}::${b}` : `2001:db8:${a}:1:2:3:4:${b}`));

/** A planted text, and the parts of it that must be hidden. */
const planted = fc.oneof(
  fc.tuple(key(8), key(8), key(8)).map(([a, b, c]) => {
    const text = `eyJhbGci${a}.eyJzdWIi${b}.${c}`;
    return { text, secrets: [text, b, c] };
  }),
  fc.tuple(fc.constantFrom('ghs_', 'ghp_', 'gho_', 'ghu_', 'ghr_', 'github_pat_'), key(36)).map(([kind, rest]) => ({
    text: `${kind}${rest}`,
    secrets: [rest],
  })),
  fc.tuple(fc.constantFrom('Bearer', 'bearer', 'Basic'), key(10)).map(([scheme, value]) => ({
    text: `${scheme} ${value}`,
    secrets: [value],
  })),
  fc.array(random(64, 64), { minLength: 2, maxLength: 4 }).map((lines) => ({
    text: `-----BEGIN RSA PRIVATE KEY-----\n${lines.join('\n')}\n-----END RSA PRIVATE KEY-----`,
    secrets: lines,
  })),
  fc
    .tuple(
      fc.constantFrom('password', 'client_secret', 'apiKey', 'access-key', 'auth_token'),
      key(6),
      fc.constantFrom('=', ': ', '":"'),
    )
    .map(([name, value, between]) => ({ text: `${name}${between}${value}`, secrets: [value] })),
  fc.tuple(key(6), key(6)).map(([user, password]) => ({
    text: `https://${user}:${password}@store.example/api/v1/write`,
    secrets: [user, password],
  })),
  key(6).map((value) => ({ text: `https://store.example/api?session=${value}&n=1`, secrets: [value] })),
  key(6).map((value) => ({ text: `GET /checkout?card=${value} HTTP/1.1`, secrets: [value] })),
  ipv4.map((address) => ({ text: address, secrets: [address] })),
  fc
    .tuple(
      ipv4.map((address) => address.replaceAll('.', '-')),
      fc.constantFrom('ip-', 'ec2-', 'eu-west-1-'),
      fc.constantFrom('', '-1'),
    )
    .map(([address, before, after]) => ({ text: `${before}${address}${after}.example`, secrets: [address] })),
  ipv4.map((address) => ({ text: `::ffff:${address}`, secrets: [address] })),
  ipv6.map((address) => ({ text: address, secrets: [address] })),
);

/** The text around what is planted. */
const surroundings: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `dial ${text} failed`,
  (text) => `value="${text}"`,
  (text) => `x=${text}`,
  (text) => `peer:${text}: refused`,
  (text) => `(${text})`,
  (text) => `[${text}]:443`,
  (text) => `a,${text},b`,
  (text) => `first\n${text}\nlast`,
  (text) => JSON.stringify({ level: 'error', message: `at\n${text}` }),
  (text) => JSON.stringify({ message: JSON.stringify({ inner: [text] }) }),
  (text) => JSON.stringify({ [`name ${text}`]: 1 }),
  (text) => `2026-11-23T11:56:46Z stderr F ${JSON.stringify({ message: text })}`,
  (text) => JSON.stringify({ cut: text }).slice(0, -1),
];

test('every planted secret is hidden, wherever it stands', () => {
  fc.assert(
    fc.property(planted, fc.constantFrom(...surroundings), ({ text, secrets }, around) => {
      const redactor = new Redactor(isOurs);
      for (const shown of [redactor.text(around(text)), redactor.lines(`one\n${around(text)}\n{"a":1}`)])
        for (const secret of secrets) expect(shown).not.toContain(secret);
      const value = JSON.stringify(redactor.value({ metadata: { note: around(text) }, list: [around(text)] }));
      for (const secret of secrets) expect(value).not.toContain(secret);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ['10.244.1.77', 'an address in a node’s pod range, even if no pod has it'],
  ['10.99.0.7', 'a pod'],
  ['192.168.5.11', 'a node'],
  ['10.96.0.10', 'a Service'],
  ['fd00:96::a', 'a Service, by its IPv6 address'],
  ['fd00:10::0:5', 'an address in a node’s IPv6 pod range'],
  ['127.0.0.1', 'loopback'],
  ['0.0.0.0', 'the unspecified address'],
])('%s stays: %s', (address) => {
  expect(redact(`dial tcp ${address}: refused`)).toBe(`dial tcp ${address}: refused`);
});

test('an outside address has one name in a bundle, in each of its spellings', () => {
  const redactor = new Redactor(isOurs);
  expect(redactor.text('203.0.113.7 then 198.51.100.9')).toBe('outside-1 then outside-2');
  expect(redactor.value({ peer: '::ffff:203.0.113.7', also: '203.0.113.7:443' })).toEqual({
    peer: 'outside-1',
    also: 'outside-1:443',
  });
  expect(redactor.text('2001:db8::1 2001:DB8:0:0:0:0:0:1')).toBe('outside-3 outside-3');
  expect(redactor.counts.outsideAddresses).toBe(3);
});

test.each([
  ['2001:db8::1.2001:db8::2', 'outside-1.outside-2'],
  ['203.0.113.7::2001:db8:1', 'outside-2outside-1'],
  [`${'10:'.repeat(40)}.2001:db8::5`, expect.stringMatching(/\.outside-\d+$/)],
  [`${'a'.repeat(80)}.2001:db8::1`, `${'a'.repeat(80)}.outside-1`],
  [Array(3).fill('2001:db8:1:2:3:4:5:6').join(':'), 'outside-1:outside-1:outside-1'],
])('in text without blanks every IPv6 address is hidden: %#', (text, shown) => {
  expect(redact(text)).toEqual(shown);
});

test('without the right to read nodes, pods and Services all addresses except loopback are hidden', () => {
  expect(new Redactor(clusterAddresses(nobody)).text('10.244.1.7 127.0.0.1')).toBe('outside-1 127.0.0.1');
});

test.each([
  'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'at 2026-11-23T11:56:46.123Z, 12:30:45',
  'secretName: svc-query-tls',
  'token: invalid',
  'container instrument ended with code 1',
  'otel/ebpf-instrument:v0.10.0',
  'image: registry.example/svc-operator@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'std::fmt and mod::add_one',
  `SHA256 Fingerprint=${Array(32).fill('9F').join(':')}`,
  'svc_controller_token_reviews_total{result="denied"} 3',
  'kernel 6.8.0-45-generic, v1.34.1',
  '/apis/svc.dev/v1alpha1/namespaces/shop/trafficmonitors/checkout-with-a-rather-long-name-2',
])('what a maintainer needs stays: %s', (text) => {
  expect(redact(text)).toBe(text);
});

test('below extraConfig every member that is named as a credential or as headers is hidden, whatever it holds', () => {
  const shown = new Redactor(isOurs).value({
    spec: {
      instrument: { extraConfig: { otel: { headers: { 'x-team': 'plain' }, token: ['a', { b: 'c' }], port: 4317 } } },
    },
  });
  expect(shown).toEqual({
    spec: {
      instrument: {
        extraConfig: {
          otel: { headers: { 'x-team': '[credential]' }, token: ['[credential]', { b: '[credential]' }], port: 4317 },
        },
      },
    },
  });
});

test('a redacted text is not changed by a second redaction', () => {
  const once = redact('Authorization: Bearer abcdef123456 https://u:p@h/?q=1 203.0.113.7 password=x1');
  expect(redact(once)).toBe(once);
});

test('JSON of any depth is redacted down to a hundred levels, and so is JSON inside of JSON', () => {
  const lists = (depth: number, leaf = ''): string => `${'['.repeat(depth)}${leaf}${']'.repeat(depth)}`;
  expect(redact(lists(50, '"203.0.113.7"'))).toBe(lists(50, '"outside-1"'));
  expect(redact(lists(5_000, '"203.0.113.7"'))).toBe(lists(100, '"[too deep]"'));
  expect(redact(lists(60, JSON.stringify(lists(60, '"203.0.113.7"'))))).not.toContain('203.0.113.7');
  const deep = (member: string): unknown => ({
    extraConfig: { [member]: JSON.parse(lists(5_000, '"x9"')) as unknown },
  });
  for (const member of ['plain', 'token'])
    expect(JSON.stringify(new Redactor(isOurs).value(deep(member)))).toContain('[too deep]');
});

test.each([
  [
    ['run', '--api-token', 'abc', '--port', 'abc'],
    ['run', '--api-token', '[credential]', '--port', 'abc'],
  ],
  [
    ['-password', 'abc', 'def'],
    ['-password', '[credential]', 'def'],
  ],
  [
    ['--with-token', '--verbose', '--token-file', '/a/b'],
    ['--with-token', '--verbose', '--token-file', '/a/b'],
  ],
  [
    [
      { name: 'X-Api-Key', value: 'abc' },
      { name: 'Accept', value: 'abc' },
    ],
    [
      { name: 'X-Api-Key', value: '[credential]' },
      { name: 'Accept', value: 'abc' },
    ],
  ],
  [
    { key: 'db-password', value: 'abc' },
    { key: 'db-password', value: '[credential]' },
  ],
  [
    { name: 'secretName', value: 'abc' },
    { name: 'secretName', value: 'abc' },
  ],
])('the value of a flag or of a named pair is hidden where the name is that of a credential: %j', (value, shown) => {
  const redactor = new Redactor(isOurs);
  expect(redactor.value(value)).toEqual(shown);
  expect(redactor.text(JSON.stringify(value))).toBe(JSON.stringify(shown));
});
