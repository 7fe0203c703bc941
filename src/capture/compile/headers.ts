import type { TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import type { InstrumentSettings } from '../instrument-yaml/settings.ts';
import { everywhere, headerNames } from './check/redaction.ts';
import { sortedSet, type PolicyInForce } from './settings.ts';

/**
 * Why a monitor may not have the headers it asks for, or null. A header is private until a policy allows it: at least
 * one covering policy must list it, and so must every covering policy that has a list.
 * `covering`: the policies in force for the monitor's namespace.
 */
export function headerFault(spec: TrafficMonitorSpec, covering: readonly PolicyInForce[]): string | null {
  const lists = covering.flatMap((p) => {
    const allow = p.spec.redaction?.headers?.allow;
    return allow ? [{ policy: p.name, names: new Set(headerNames(allow)) }] : [];
  });
  for (const [i, name] of (spec.http?.headers?.capture ?? []).entries()) {
    const field = `spec.http.headers.capture[${i}]: ${JSON.stringify(name)}`;
    if (lists.length === 0) return `${field} is allowed by no policy; list it in redaction.headers.allow of one`;
    const without = lists.find(({ names }) => !names.has(name.toLowerCase()));
    if (without) return `${field} is not in redaction.headers.allow of ClusterTrafficPolicy ${without.policy}`;
  }
  return null;
}

/**
 * The headers that the instrument reads: all that any monitor on the node asks for. The instrument obfuscates those
 * that are obfuscated in every namespace; the agent obfuscates the others where a policy wants that.
 */
export function capturedHeaders(
  asked: readonly string[],
  policies: readonly PolicyInForce[],
): InstrumentSettings['headers'] {
  const all = headerNames(asked);
  const hidden = new Set(headerNames(everywhere(policies).flatMap((p) => p.spec.redaction?.headers?.obfuscate ?? [])));
  return {
    capture: sortedSet(all.filter((name) => !hidden.has(name))),
    obfuscate: sortedSet(all.filter((name) => hidden.has(name))),
  };
}
