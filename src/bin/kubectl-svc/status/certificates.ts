import { certificateStates, type SecretObject } from '../../../controllers/platform/certificates.ts';
import { names } from '../../../render/index.ts';
import { itemsOf, type ClusterView } from '../cluster/view.ts';
import { about, type Check } from './check.ts';

/**
 * Checks when the CA and the certificates of the servers expire. For a user who may not read Secrets, what the status
 * of the policies says is shown instead.
 */
export function certificateChecks(view: ClusterView): Check[] {
  if (view.secrets.fault !== undefined)
    return [about('certificates', 'certificates')('unknown', `${view.secrets.fault}; ${fromPolicies(view)}`)];
  const wanted: readonly string[] = [
    ...[names.ca, names.queryTls, names.controllerTls],
    // This Secret exists only while agents of earlier versions run.
    ...(itemsOf(view.secrets).some(({ metadata }) => metadata.name === names.agentTls) ? [names.agentTls] : []),
  ];
  const present = new Map(
    itemsOf(view.secrets).flatMap((secret): [string, SecretObject][] =>
      wanted.includes(secret.metadata.name ?? '') ? [[secret.metadata.name!, secret]] : [],
    ),
  );
  const renewed = `the operator renews certificates two thirds into their life: kubectl -n ${view.namespace} logs deployment/${names.controller}`;
  const states = new Map(certificateStates(present, view.now).map((state) => [state.secret, state]));
  return wanted.map((subject): Check => {
    const is = about('certificates', subject);
    const state = states.get(subject);
    if (!state)
      return is('bad', present.has(subject) ? 'unreadable' : 'not there', 'the operator issues it: see Operator');
    const days = Math.floor((state.expiresAt - view.now) / 86_400_000);
    const ends = new Date(state.expiresAt).toISOString();
    if (state.expiresAt <= view.now) return is('bad', `ended ${ends}`, renewed);
    const text = `ends in ${days} days (${ends})`;
    return state.overdue ? is('bad', `${text}, overdue for renewal`, renewed) : is('ok', text);
  });
}

function fromPolicies(view: ClusterView): string {
  const conditions = itemsOf(view.policies).flatMap((p) => p.status?.conditions ?? []);
  const found = conditions.find((c) => c.type === 'CertificateExpiring');
  if (!found) return 'no policy reports their state';
  return found.status === 'True'
    ? `a policy says: ${found.message}`
    : 'according to the policies, all are renewed in time';
}
