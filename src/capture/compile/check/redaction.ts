import { builtinQueryParams, type ClusterTrafficPolicySpec } from '../../../api/v1alpha1/index.ts';
import { refuseDearPattern } from '../../../base/text/pattern-cost.ts';
import type { CaptureRedaction } from '../../capture-config.ts';
import type { InstrumentSettings } from '../../instrument-yaml/settings.ts';
import { patternFault } from '../../redaction-pattern.ts';
import { namespacesOf } from '../select/scope.ts';
import { sortedSet, type PolicyInForce } from '../settings.ts';
import type { NamedLabels } from '../types.ts';

/**
 * The redaction rules of the policies, in the order of the policies. The rule of a policy with a namespaceSelector
 * lists the namespaces that the policy covers.
 */
export function redactionOf(
  policies: readonly PolicyInForce[],
  namespaces: readonly NamedLabels[],
): CaptureRedaction[] {
  return policies.flatMap((policy) => {
    const rule = ruleOf(policy.spec.redaction);
    if (!rule) return [];
    const within = namespacesOf(policy, namespaces);
    return [within ? { namespaces: within, ...rule } : rule];
  });
}

function ruleOf(redaction: ClusterTrafficPolicySpec['redaction']): CaptureRedaction | null {
  const { queryParams, headers, paths, labels, dropClientAddress, dbQueryText } = redaction ?? {};
  const rule: CaptureRedaction = {
    ...(queryParams
      ? { queryParams: { add: sortedSet(queryParams.add ?? []), remove: sortedSet(queryParams.remove ?? []) } }
      : {}),
    ...(headers
      ? {
          headers: {
            ...(headers.allow ? { allow: headerNames(headers.allow) } : {}),
            ...(headers.obfuscate ? { obfuscate: headerNames(headers.obfuscate) } : {}),
          },
        }
      : {}),
    ...(paths && paths.length > 0
      ? { paths: paths.map(({ pattern, replacement }) => ({ pattern, replacement })) }
      : {}),
    ...(labels && labels.length > 0
      ? { labels: labels.map(({ name, action }) => ({ name, action })).toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
      : {}),
    ...(dropClientAddress === undefined ? {} : { dropClientAddress }),
    ...(dbQueryText === undefined ? {} : { dbQueryText }),
  };
  return Object.keys(rule).length > 0 ? rule : null;
}

/**
 * The names of query parameters that the instrument redacts, and those that it lets through. It knows no namespaces, so
 * it redacts what policies redact in every namespace, and lets through what any policy lets through. Where the
 * policy that lets a parameter through does not apply, the agent redacts the parameter.
 * The instrument tells names apart by case, and redacts some names by default, in certain spellings. A name that is let
 * through is let through in each of these spellings, too.
 */
export function nodeQueryParams(policies: readonly PolicyInForce[]): InstrumentSettings['sensitiveQueryParams'] {
  const names = (some: readonly PolicyInForce[], list: 'add' | 'remove'): string[] =>
    sortedSet(some.flatMap((p) => p.spec.redaction?.queryParams?.[list] ?? []));
  const add = names(everywhere(policies), 'add');
  const redacted = new Set(add.map((name) => name.toLowerCase()));
  const remove = names(policies, 'remove').filter((name) => !redacted.has(name.toLowerCase()));
  const spellings = builtinQueryParams.filter((known) =>
    remove.some((name) => name.toLowerCase() === known.toLowerCase()),
  );
  return { add, remove: sortedSet([...remove, ...spellings]) };
}

/** The policies that hold in every namespace. */
export function everywhere(policies: readonly PolicyInForce[]): PolicyInForce[] {
  return policies.filter((p) => !p.spec.namespaceSelector);
}

/** Header names as the instrument writes them: lower case. */
export function headerNames(names: readonly string[]): string[] {
  return sortedSet(names.map((name) => name.toLowerCase()));
}

/**
 * The first path rewrite that cannot be used, as a sentence that begins with its field; or null. A pattern that is dear
 * to compile can be used only if `accepted` has it.
 */
export function pathRewriteFault(
  spec: ClusterTrafficPolicySpec,
  accepted: ClusterTrafficPolicySpec | undefined,
): string | null {
  const known = new Set(accepted?.redaction?.paths?.map(({ pattern }) => pattern));
  for (const [i, { pattern, replacement }] of (spec.redaction?.paths ?? []).entries()) {
    const at = `spec.redaction.paths[${i}]`;
    const cost = known.has(pattern) ? null : refuseDearPattern(pattern);
    if (cost !== null) return `${at}.pattern: ${cost}`;
    const fault = patternFault(pattern, replacement);
    if (fault) return `${at}.${fault}`;
  }
  return null;
}
