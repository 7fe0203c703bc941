import type { KindDefinition } from '../schema/kind.ts';
import { clusterTrafficPolicyKind } from './cluster-traffic-policy.ts';
import { minterDeploymentKind } from './minter-deployment.ts';
import { trafficMonitorKind } from './traffic-monitor.ts';

/** Every kind of the group, in the order in which they are documented. */
export const kinds: readonly KindDefinition[] = [trafficMonitorKind, clusterTrafficPolicyKind, minterDeploymentKind];
