import {
  clusterTrafficPolicyKind,
  trafficMonitorKind,
  type ClusterTrafficPolicySpec,
  type TrafficMonitorSpec,
} from '../../../api/v1alpha1/index.ts';
import { specReader } from '../../../api/schema/spec-reader.ts';

type Read<T> = (status: { readonly lastAcceptedSpec?: T } | undefined) => T | undefined;

/** The last accepted spec of a monitor; undefined if there is none, or none that the schema admits. */
export const lastMonitorSpec: Read<TrafficMonitorSpec> = reader(specReader(trafficMonitorKind.spec));
/** The last accepted spec of a policy; undefined if there is none, or none that the schema admits. */
export const lastPolicySpec: Read<ClusterTrafficPolicySpec> = reader(specReader(clusterTrafficPolicyKind.spec));

/**
 * The API server stores a last accepted spec unchecked, and an operator of another version may have accepted it. One that
 * the schema does not admit could end the compile for all objects, make every agent refuse its config, or end every query.
 * So a rule that is made stricter for the API server alone has to be a CEL rule.
 */
function reader<T extends object>(read: ReturnType<typeof specReader<T>>): Read<T> {
  return (status) => {
    if (status?.lastAcceptedSpec === undefined) return undefined;
    const reading = read(status.lastAcceptedSpec);
    return 'spec' in reading ? reading.spec : undefined;
  };
}
