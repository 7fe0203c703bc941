import type { TSchema } from '@sinclair/typebox';
import {
  clusterTrafficPolicyKind,
  trafficMonitorKind,
  type ClusterTrafficPolicySpec,
  type TrafficMonitorSpec,
} from '../../../api/v1alpha1/index.ts';
import { structuralSchema, type JsonSchema } from '../../../api/schema/crd.ts';
import { pruned, schemaFaults } from '../../../api/schema/schema-faults.ts';

type Read<T> = (status: { readonly lastAcceptedSpec?: T } | undefined) => T | undefined;

/** The last accepted spec of a monitor; undefined if there is none, or none that the schema admits. */
export const lastMonitorSpec: Read<TrafficMonitorSpec> = reader(trafficMonitorKind.spec);
/** The last accepted spec of a policy; undefined if there is none, or none that the schema admits. */
export const lastPolicySpec: Read<ClusterTrafficPolicySpec> = reader(clusterTrafficPolicyKind.spec);

/**
 * The API server stores a last accepted spec unchecked, and an operator of another version may have accepted it. So it is
 * pruned and checked here like a spec there, except for CEL rules: one that does not have the types of its kind could
 * end the compile for all objects.
 */
function reader<T>(kind: TSchema): Read<T> {
  let schema: JsonSchema | undefined;
  return (status) => {
    if (status?.lastAcceptedSpec === undefined) return undefined;
    schema ??= structuralSchema(kind);
    const spec = pruned(schema, status.lastAcceptedSpec);
    return schemaFaults(schema, spec, 'spec').length === 0 ? (spec as T) : undefined;
  };
}
