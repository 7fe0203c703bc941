/** The IPv4 address of an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`); any other text as it is. Pure. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
