import { isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { cidrPattern, hostPortPattern } from './address-patterns.ts';

const isCidr = (text: string): boolean => new RegExp(cidrPattern).test(text);

test.each([
  ...['10.0.0.0/8', '0.0.0.0/0', '255.255.255.255/32', '10.1.2.3/8', '::/0', '::1/128', 'fd00::/8', 'FD00::1:2/64'],
  ...[
    '1:2:3:4:5:6:7:8/64',
    '1:2:3:4:5:6:7::/112',
    '::2:3:4:5:6:7:8/9',
    '1::8/9',
    '::ffff:10.0.0.0/104',
    '64:ff9b::1.2.3.4/99',
  ],
])('%s is an address range', (text) => expect(isCidr(text)).toBe(true));

test.each([
  ...['', '10.0.0.0', '10.0.0.0/', '/8', '10.0.0.0/33', '10.0.0.0/08', '10.0.0/8', '10.0.0.0.0/8', '010.0.0.0/8'],
  ...['999.1.1.1/8', '256.0.0.0/8', '10.0.0.0/8 ', '10.0.0.0/8\n', 'internet', '1.2.3.4/a', '1.2.3.4/-1'],
  ...['fd00::/129', ':/8', ':::/8', '1::2::3/8', '12345::/8', 'g::/8', '1:2:3:4:5:6:7/8', '1:2:3:4:5:6:7:8:9/8'],
  ...[
    '1:2:3:4:5:6:7:8::/8',
    '::1:2:3:4:5:6:7:8/8',
    'fe80::1%eth0/64',
    '::1.2.3.256/99',
    '1.2.3.4::/99',
    ':1/8',
    '1:/8',
  ],
])('%j is no address range', (text) => expect(isCidr(text)).toBe(false));

test('the address of a range is accepted exactly when Node accepts it', () => {
  const part = fc.constantFrom('', '0', '1', 'ff', 'abcd', '12345', '255', '256', '01', '1.2.3.4', '1.2.3.300', 'g');
  const joined = (separators: string[]) =>
    fc
      .array(fc.tuple(part, fc.constantFrom(...separators)), { minLength: 1, maxLength: 9 })
      .map((l) => l.flat().join(''));
  const reached = { yes: 0, no: 0 };
  fc.assert(
    fc.property(
      fc.oneof(joined([':', ':', '::', '']), joined(['.', ''])),
      fc.constantFrom('', ':', '1'),
      (start, end) => {
        const address = start + end;
        const expected = isIPv4(address) || isIPv6(address);
        reached[expected ? 'yes' : 'no']++;
        expect([address, isCidr(`${address}/9`)]).toEqual([address, expected]);
      },
    ),
    { numRuns: 5_000 },
  );
  expect(Math.min(reached.yes, reached.no)).toBeGreaterThan(50);
});

test('a port is a number from 1 to 65535', () => {
  const isHostPort = new RegExp(hostPortPattern);
  const taken = Array.from({ length: 100_000 }, (_, port) => port).filter((port) => isHostPort.test(`cache:${port}`));
  expect(taken).toEqual(Array.from({ length: 65_535 }, (_, i) => i + 1));
  for (const text of ['cache', ':80', 'cache:', 'cache:080', 'a b:80', 'cache:80 ']) {
    expect([text, isHostPort.test(text)]).toEqual([text, false]);
  }
});

test('the patterns need no escapes in CEL and YAML', () => {
  for (const pattern of [cidrPattern, hostPortPattern]) expect(pattern).not.toMatch(/[\\'"]/);
});
