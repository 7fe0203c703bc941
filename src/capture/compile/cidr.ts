import { isIPv4, isIPv6 } from 'node:net';

/** True for an IPv4 or IPv6 address with a prefix length that fits it. */
export function isCidr(text: string): boolean {
  const match = /^([0-9a-fA-F:.]+)\/([0-9]{1,3})$/.exec(text);
  if (!match) return false;
  const bits = Number(match[2]);
  return (isIPv4(match[1]!) && bits <= 32) || (isIPv6(match[1]!) && bits <= 128);
}
