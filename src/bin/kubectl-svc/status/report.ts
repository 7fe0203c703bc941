import { listedMonitors, type ClusterView } from '../cluster/view.ts';
import { certificateChecks } from './certificates.ts';
import { isWell, sections, type Check } from './check.ts';
import { agentSetChecks, operatorChecks, queryChecks } from './components.ts';
import { eventChecks } from './events.ts';
import { agentNodeChecks, captureChecks, nodeRows } from './node-rows.ts';
import { flowChecks, minterKind, monitorKind, objectChecks, policyKind } from './objects.ts';
import { crdChecks, metricsApiChecks } from './registrations.ts';

export interface StatusReport {
  readonly well: boolean;
  readonly checks: readonly Check[];
}

/** The complete report on the product. Pure: equal objects give equal reports. */
export function statusReport(view: ClusterView): StatusReport {
  const rows = nodeRows(view);
  const checks = [
    ...crdChecks(view),
    ...operatorChecks(view),
    ...agentSetChecks(view),
    ...agentNodeChecks(rows, view.namespace),
    ...queryChecks(view),
    ...certificateChecks(view),
    ...metricsApiChecks(view),
    ...objectChecks(view.policies, policyKind),
    ...flowChecks(view.policies),
    ...objectChecks(listedMonitors(view), monitorKind),
    ...captureChecks(rows, view.nodes.fault),
    ...objectChecks(view.minters, minterKind),
    ...eventChecks(view),
  ];
  const order = Object.keys(sections);
  const sorted = checks.toSorted((a, b) => order.indexOf(a.section) - order.indexOf(b.section));
  return { well: isWell(sorted), checks: sorted };
}
