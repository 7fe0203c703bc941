import type { CaptureRedaction } from '../../capture/index.ts';

export type LabelAction = 'Drop' | 'Hash' | 'Truncate';

/** The complete set of redaction rules, with every default filled in. */
export interface Redaction {
  /** Query parameters whose values are replaced, lower case. */
  readonly queryParams: ReadonlySet<string>;
  /** Headers that may be kept, and those of them whose value is replaced, lower case. */
  readonly allowHeaders: ReadonlySet<string>;
  readonly obfuscateHeaders: ReadonlySet<string>;
  readonly paths: readonly { readonly pattern: string; readonly replacement: string }[];
  readonly labels: ReadonlyMap<string, LabelAction>;
  readonly dropClientAddress: boolean;
  readonly dropDbQueryText: boolean;
}

/** Names of query parameters whose values are never kept unless a policy lets them through. */
const builtinParams: readonly string[] = [
  'access_token',
  'api_key',
  'apikey',
  'auth',
  'authorization',
  'awsaccesskeyid',
  'code',
  'key',
  'password',
  'passwd',
  'pwd',
  'secret',
  'session',
  'sig',
  'signature',
  'token',
  'x-amz-credential',
  'x-amz-security-token',
  'x-amz-signature',
  'x-goog-signature',
];

const severity: Readonly<Record<LabelAction, number>> = { Truncate: 0, Hash: 1, Drop: 2 };

/**
 * Joins rules so that the most restrictive applies: names to redact are united and override names to let through, a
 * header needs the permission of every rule that speaks of headers, the strictest action on a label holds, and data
 * that is omitted by default (client addresses, texts of database queries) is kept only when every rule that mentions
 * it allows it.
 */
export function mergeRedaction(rules: readonly CaptureRedaction[]): Redaction {
  const lower = (names: readonly string[] | undefined): string[] => (names ?? []).map((n) => n.toLowerCase());
  const added = rules.flatMap((r) => lower(r.queryParams?.add));
  const removed = new Set(rules.flatMap((r) => lower(r.queryParams?.remove)));
  const allowed = rules.flatMap((r) => (r.headers?.allow ? [new Set(lower(r.headers.allow))] : []));
  const labels = new Map<string, LabelAction>();
  for (const { name, action } of rules.flatMap((r) => r.labels ?? [])) {
    const before = labels.get(name);
    if (!before || severity[action] > severity[before]) labels.set(name, action);
  }
  const address = rules.flatMap((r) => r.dropClientAddress ?? []);
  const query = rules.flatMap((r) => r.dbQueryText ?? []);
  return {
    queryParams: new Set([...builtinParams.filter((name) => !removed.has(name)), ...added]),
    allowHeaders:
      allowed.length > 0 ? allowed.reduce((a, b) => new Set([...a].filter((name) => b.has(name)))) : new Set(),
    obfuscateHeaders: new Set(rules.flatMap((r) => lower(r.headers?.obfuscate))),
    paths: rules.flatMap((r) => r.paths ?? []),
    labels,
    dropClientAddress: address.length === 0 || address.includes(true),
    dropDbQueryText: query.length === 0 || query.includes('Drop'),
  };
}
