import type { ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { parseDuration } from '../../base/duration.ts';
import { decides, queryFields, queryPolicies, type QueryField } from '../../capture/index.ts';
import { queryOptionTable, type QueryOptions } from '../../render/index.ts';
import type { ConditionInput } from '../../runtime/index.ts';

/** Field of `spec.query` → the option of the query server that limits the field. */
const boundedBy = {
  timeout: 'queryTimeout',
  perAgentTimeout: 'agentTimeout',
  maxSamples: 'maxSamples',
  maxConcurrency: 'maxConcurrency',
} as const;

/**
 * Whether queries are held to the policy's `spec.query`; undefined when that sets no limit. `policies` are all
 * policies, `server` are the settings of the query server. Pure.
 */
export function queryLimitsCondition(
  policy: ClusterTrafficPolicy,
  policies: readonly ClusterTrafficPolicy[],
  server: QueryOptions,
): ConditionInput | undefined {
  const type = 'QueryLimitsInForce';
  const inForce = queryPolicies(policies);
  const own = inForce.find(({ name }) => name === policy.metadata.name);
  if (own === undefined) {
    if (stated(policy.spec.query).length === 0) return undefined;
    const message = 'a query reads all nodes: set spec.query in a policy without a nodeSelector';
    return { type, status: 'False', reason: 'NodesSelected', message };
  }
  const fields = stated(own.spec.query);
  if (fields.length === 0) return undefined;
  const selector = canonicalJson(own.spec.namespaceSelector ?? null);
  const covering = inForce.filter(
    ({ spec }) => !spec.namespaceSelector || canonicalJson(spec.namespaceSelector) === selector,
  );
  const lost = fields.flatMap((field) => {
    const by = decides(covering, field);
    return by === undefined || by === own ? [] : [{ field, by: by.name }];
  });
  const kept = fields.filter((field) => !lost.some((one) => one.field === field));
  const parts = lost.map(({ field, by }) => `${field} is decided by policy ${by}`);
  if (kept.length === 0) return { type, status: 'False', reason: 'Overridden', message: parts.join('; ') };
  for (const field of kept) {
    const bound = boundOf(field, own.spec.query![field], server);
    if (bound !== undefined) parts.push(`${field} is above the query server's own ${bound}, which holds`);
  }
  return { type, status: 'True', reason: 'InForce', message: [kept.join(', '), ...parts].join('; ') };
}

function stated(query: ClusterTrafficPolicy['spec']['query']): QueryField[] {
  return queryFields.filter((field) => query?.[field] !== undefined);
}

/** The query server's flag, as text, when it is lower than the value; otherwise undefined. */
function boundOf(field: QueryField, value: unknown, server: QueryOptions): string | undefined {
  if (!(field in boundedBy)) return undefined;
  const option = boundedBy[field as keyof typeof boundedBy];
  const flag = server[option] ?? queryOptionTable[option].default ?? '';
  const amount = (text: string): number => (/^\d+$/.test(text) ? Number(text) : parseDuration(text, field));
  return amount(String(value)) > amount(flag) ? flag : undefined;
}
