import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { ReviewBodies } from '../webhook/review-bodies.ts';
import { Door } from './door.ts';
import { networkOf, peerAddress } from './peer-address.ts';

test.each([
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['10.0.0.1', '10.0.0.1'],
  ['fd00::1', 'fd00::1'],
  ['::1', '::1'],
  [undefined, undefined],
])('the peer of a socket from %p is %p', (remoteAddress, address) => {
  expect(peerAddress({ remoteAddress })).toBe(address);
});

test('the connections of a peer count together, whether it is shown as IPv4 or as IPv4 inside IPv6', () => {
  const door = new Door(() => {}, { limits: { connectionsPerAddress: 1 } });
  const closed: string[] = [];
  const from = (remoteAddress: string): Socket => {
    const destroy = (): void => void closed.push(remoteAddress);
    return Object.assign(new EventEmitter(), { remoteAddress, remotePort: 40_000, destroy }) as unknown as Socket;
  };
  for (const address of ['::ffff:1.2.3.4', '1.2.3.5', '1.2.3.4']) expect(door.enter(from(address))).toBe(true);
  expect(closed).toEqual(['::ffff:1.2.3.4']);
});

test('the review bodies of a peer count together, whether it is shown as IPv4 or as IPv4 inside IPv6', async () => {
  const limit = { all: 1_000, ofOne: 10 };
  const bodies = new ReviewBodies({ bytes: limit, values: limit });
  const from = (remoteAddress: string): IncomingMessage =>
    Object.assign(Readable.from([Buffer.from('"123456"')]), {
      socket: { remoteAddress },
    }) as unknown as IncomingMessage;
  const limits = { maxBytes: 100, maxValues: 10 };
  await bodies.with(from('::ffff:1.2.3.4'), limits, async () => {
    await expect(bodies.with(from('1.2.3.4'), limits, async () => 'taken')).rejects.toThrow('too many requests');
    expect(await bodies.with(from('1.2.3.5'), limits, async () => 'taken')).toBe('taken');
  });
});

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
  ['2001:db8:1::', '2001:db8:1:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
