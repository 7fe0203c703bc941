import {
  clusterTrafficPolicyKind,
  trafficMonitorKind,
  type ClusterTrafficPolicySpec,
  type TrafficMonitorSpec,
} from '../../../api/v1alpha1/index.ts';
import { specReader } from '../../../api/schema/spec-reader.ts';

type Read<T> = (status: { readonly lastAcceptedSpec?: T } | undefined) => T | undefined;

/** The last accepted spec of a monitor; undefined if there is none, or none with the types and sizes of the schema. */
export const lastMonitorSpec: Read<TrafficMonitorSpec> = reader(specReader(trafficMonitorKind.spec));
/** The last accepted spec of a policy; undefined if there is none, or none with the types and sizes of the schema. */
export const lastPolicySpec: Read<ClusterTrafficPolicySpec> = reader(specReader(clusterTrafficPolicyKind.spec));

/**
 * The API server stores a last accepted spec unchecked, and an operator of another version may have accepted it. One
 * that does not have the types of its kind could end the compile for all objects.
 */
function reader<T extends object>(read: ReturnType<typeof specReader<T>>): Read<T> {
  return (status) => {
    if (status?.lastAcceptedSpec === undefined) return undefined;
    const reading = read(status.lastAcceptedSpec);
    return 'spec' in reading ? reading.spec : undefined;
  };
}
