/**
 * Addresses as regular expressions for the API server, which knows RE2, and for us. `isCIDR` of CEL needs Kubernetes
 * 1.30. No pattern has a backslash, which CEL and YAML would each want escaped.
 */

const byte = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const ipv4 = `(${byte}[.]){3}${byte}`;
/** 16 bits of an IPv6 address. */
const group = '[0-9a-fA-F]{1,4}';
/** At most `count` groups, each with a colon. */
const upTo = (count: number): string => (count === 0 ? '' : `(${group}:){0,${count}}`);

/** A whole IPv6 address, with its last 32 bits as two groups or as an IPv4 address. */
const whole = `(${group}:){6}(${group}:${group}|${ipv4})`;

/** What may follow `::` when at most `most` groups are left. An IPv4 address counts as two groups. */
function rest(most: number): string {
  const forms = [
    ...(most >= 1 ? [`${upTo(most - 1)}${group}`] : []),
    ...(most >= 2 ? [`${upTo(most - 2)}${ipv4}`] : []),
  ];
  return forms.length === 0 ? '' : `(${forms.join('|')})?`;
}

/** `::` stands for at least one group of zeros; `before` groups precede it. */
const shortened = [0, 1, 2, 3, 4, 5, 6, 7].map((before) =>
  before === 0 ? `::${rest(7)}` : `(${group}:){${before}}:${rest(7 - before)}`,
);

/** An IPv4 or IPv6 address with a prefix length that fits it, as Go's `netip.ParsePrefix` takes it. */
export const cidrPattern =
  `^(${ipv4}/([0-9]|[12][0-9]|3[0-2])` +
  `|(${[whole, ...shortened].join('|')})/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))$`;

/** A port, 1 to 65535, without leading zeros. */
export const portPattern = '(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})';

/** `host:port`; the host is a name or an IPv4 address. */
export const hostPortPattern = `^[A-Za-z0-9.-]+:${portPattern}$`;
