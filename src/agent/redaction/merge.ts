import { builtinQueryParams } from '../../api/v1alpha1/index.ts';
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

const builtinParams = builtinQueryParams.map((name) => name.toLowerCase());

const severity: Readonly<Record<LabelAction, number>> = { Truncate: 0, Hash: 1, Drop: 2 };

/**
 * Joins the rules that hold in one namespace so that the most restrictive applies. A query parameter that any rule adds
 * is redacted, even if another rule removes it. A header needs the permission of every rule that speaks of headers. The
 * strictest action on a label holds. Data that is omitted by default (client addresses, texts of database queries) is
 * kept only when every rule that mentions it allows it.
 */
export function mergeRedaction(rules: readonly CaptureRedaction[]): Redaction {
  const added = rules.flatMap((r) => lower(r.queryParams?.add));
  const removed = new Set(rules.flatMap((r) => lower(r.queryParams?.remove)));
  const allowed = rules.flatMap((r) => (r.headers?.allow ? [new Set(lower(r.headers.allow))] : []));
  const address = rules.flatMap((r) => r.dropClientAddress ?? []);
  const query = rules.flatMap((r) => r.dbQueryText ?? []);
  return {
    queryParams: new Set([...builtinParams.filter((name) => !removed.has(name)), ...added]),
    allowHeaders: common(allowed),
    obfuscateHeaders: new Set(rules.flatMap((r) => lower(r.headers?.obfuscate))),
    paths: rules.flatMap((r) => r.paths ?? []),
    labels: severest(rules.flatMap((r) => (r.labels ?? []).map(({ name, action }) => [name, action] as const))),
    dropClientAddress: address.length === 0 || address.includes(true),
    dropDbQueryText: query.length === 0 || query.includes('Drop'),
  };
}

/**
 * The redaction of data that belongs to several namespaces. `each` has one redaction per namespace: what one of these
 * redacts is redacted. `paths` has the path rewrites of all these namespaces, each rewrite once, in the order of the
 * policies.
 */
export function strictest(each: readonly Redaction[], paths: Redaction['paths']): Redaction {
  return {
    queryParams: new Set(each.flatMap((r) => [...r.queryParams])),
    allowHeaders: common(each.map((r) => r.allowHeaders)),
    obfuscateHeaders: new Set(each.flatMap((r) => [...r.obfuscateHeaders])),
    paths,
    labels: severest(each.flatMap((r) => [...r.labels])),
    dropClientAddress: each.some((r) => r.dropClientAddress),
    dropDbQueryText: each.some((r) => r.dropDbQueryText),
  };
}

function lower(names: readonly string[] | undefined): string[] {
  return (names ?? []).map((name) => name.toLowerCase());
}

function common(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  return sets.reduce((a, b) => new Set([...a].filter((name) => b.has(name))), sets[0] ?? new Set<string>());
}

/** The more severe of two actions; undefined when there is none. */
export function stricter(a: LabelAction | undefined, b: LabelAction | undefined): LabelAction | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return severity[b] > severity[a] ? b : a;
}

function severest(actions: readonly (readonly [name: string, action: LabelAction])[]): Map<string, LabelAction> {
  const labels = new Map<string, LabelAction>();
  for (const [name, action] of actions) labels.set(name, stricter(labels.get(name), action)!);
  return labels;
}
