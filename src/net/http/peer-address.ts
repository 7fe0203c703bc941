import type { Socket } from 'node:net';
import { plainAddress } from '../../base/text/plain-address.ts';

/**
 * The address of a connection's other end; undefined once the connection is closed. A listener on `::` sees IPv4 peers
 * as `::ffff:10.0.0.1`: here they have their IPv4 address, so that logs and limits know one peer by one address.
 */
export function peerAddress({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string | undefined {
  return remoteAddress === undefined ? undefined : plainAddress(remoteAddress);
}

/**
 * True for a connection from 127.0.0.1 or ::1. False for the rest of 127.0.0.0/8: a mesh's proxy forwards connections
 * of other pods from there (Istio: 127.0.0.6).
 */
export function isLoopback(socket: Pick<Socket, 'remoteAddress'>): boolean {
  const address = peerAddress(socket);
  return address === '127.0.0.1' || address === '::1';
}

/**
 * The network that a peer may have every address of: the /64 of an IPv6 address, else the address itself. Pure.
 * Shape: `2001:db8:0:1::/64`.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const groups = (text: string | undefined): string[] => (text ? text.split(':') : []);
  const [head, tail] = address.split('::');
  const [first, last] = [groups(head), groups(tail)];
  const zeros = Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0');
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}
