import type { lookup } from 'node:dns';
import { addressFault, guardedLookup, hostFault } from './address-guard.ts';

test.each([
  ['10.0.0.5', null],
  ['192.168.1.1', null],
  ['93.184.216.34', null],
  ['2001:db8::1', null],
  ['127.0.0.1', /loopback/],
  ['169.254.169.254', /metadata/],
  ['100.100.100.200', /metadata/],
  ['168.63.129.16', /metadata/],
  ['0.0.0.0', /loopback/],
  ['224.0.0.1', /loopback/],
  ['::1', /loopback/],
  ['fe80::1', /link-local/],
  ['fd00:ec2::254', /metadata/],
  ['::ffff:169.254.169.254', /metadata/],
])('a name that resolves to %s is allowed by the list *; another list decides by this address', (address, fault) => {
  // The list `*` allows every address. A list of names, or no list, refuses the addresses whose row has a fault.
  expect(addressFault({ host: 'mimir.example.com', allow: ['*'] }, address)).toBeNull();
  const expected: unknown = fault === null ? null : expect.stringMatching(fault);
  expect(addressFault({ host: 'mimir.example.com', allow: ['*.example.com'] }, address)).toEqual(expected);
  expect(addressFault({ host: 'mimir.example.com' }, address)).toEqual(expected);
});

test('an address is allowed if a list or the policy’s own URL names it', () => {
  expect(addressFault({ host: 'x', allow: ['169.254.1.1'] }, '169.254.1.1')).toBeNull();
  expect(addressFault({ host: '127.0.0.1' }, '127.0.0.1')).toBeNull();
  expect(hostFault({ host: '127.0.0.1' })).toBeNull();
  expect(hostFault({ host: '127.0.0.1', allow: ['*.example.com'] })).toMatch(/in no exportAllowList/);
  expect(hostFault({ host: 'a.example.org', allow: ['*.example.com'] })).toMatch(/in no exportAllowList/);
  expect(hostFault({ host: 'a.example.com', allow: ['*.example.com'] })).toBeNull();
});

test('a name is refused as soon as one of its addresses is', async () => {
  const answers = (addresses: string[]): typeof lookup =>
    ((_: string, __: object, done: (e: null, found: object[]) => void) =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )) as unknown as typeof lookup;
  const ask = (addresses: string[]): Promise<unknown> =>
    new Promise((resolve) =>
      guardedLookup({ host: 'h.example.com', allow: ['*.example.com'] }, answers(addresses))(
        'h.example.com',
        {},
        (error, address) => resolve(error ?? address),
      ),
    );
  expect(await ask(['10.0.0.1', '10.0.0.2'])).toBe('10.0.0.1');
  expect(await ask(['10.0.0.1', '169.254.169.254'])).toMatchObject({ code: 'ERR_EXPORT_NOT_ALLOWED' });
});
