import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { OperatorError } from '../../base/errors.ts';
import { plainAddress } from '../../base/text/plain-address.ts';
import { hostMatches } from '../../capture/index.ts';

/**
 * Addresses that no destination may resolve to unless the address itself is named: by an allow list or, for a
 * destination that a policy defines, by its URL. They are the agent's own loopback, link-local addresses (where the
 * metadata services of clouds answer), and addresses that no peer can have.
 */
const special = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['192.0.0.0', 24],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['224.0.0.0', 3],
] as const) {
  special.addSubnet(net, bits, 'ipv4');
}
for (const [net, bits] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
  ['fd00:ec2::254', 128],
  ['64:ff9b::', 96],
] as const) {
  special.addSubnet(net, bits, 'ipv6');
}

export interface GuardRule {
  /** The destination's host as its URL has it, without brackets. */
  readonly host: string;
  /** Globs of a policy's `exportAllowList`; absent for a destination that a policy itself defines. */
  readonly allow?: readonly string[] | undefined;
}

/** Null when a connection to that address is allowed, else the reason why not. */
export function addressFault(rule: GuardRule, address: string): string | null {
  const plain = plainAddress(address);
  if (!special.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4')) return null;
  const listed = rule.allow ? rule.allow.some((glob) => hostMatches(glob, plain)) : rule.host === plain;
  return listed ? null : `${rule.host} resolves to ${plain}, a loopback, link-local or metadata address`;
}

/** Null when the name of the destination's host is allowed, else the reason why not. */
export function hostFault(rule: GuardRule): string | null {
  if (rule.allow && !rule.allow.some((glob) => hostMatches(glob, rule.host))) {
    return `host ${rule.host} is in no exportAllowList`;
  }
  return isIP(rule.host) === 0 ? null : addressFault(rule, rule.host);
}

/**
 * A DNS lookup that refuses a name as soon as one of its addresses is refused. The socket connects to the checked
 * address, so an answer that changes between check and use gains nothing.
 * Errors: ERR_EXPORT_NOT_ALLOWED.
 */
export function guardedLookup(rule: GuardRule, lookup: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      for (const { address } of addresses) {
        const fault = addressFault(rule, address);
        if (fault) return callback(new OperatorError('ERR_EXPORT_NOT_ALLOWED', fault), '', 0);
      }
      if (options.all) return callback(null, addresses);
      const first = addresses[0]!;
      callback(null, first.address, first.family);
    });
  };
}
