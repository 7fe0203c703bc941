import { coreResources, getIfExists, isAlreadyExists, isConflict } from '../../kube/index.ts';
import { OperatorError } from '../../base/errors.ts';
import { isPair } from '../../net/ca.ts';
import { caTiming, planCa, type CaState, type CaTiming } from '../../net/ca-rotation.ts';
import type { ReconcileContext } from '../../runtime/index.ts';
import { names } from '../../render/index.ts';
import { caSecret, readCa, stepStoredAt, type SecretObject } from './certificates.ts';

export interface Authority {
  state: CaState;
  /** When the next step of its life cycle is due. Units: ms since the epoch. */
  nextAt: number;
}

/**
 * Takes the due step in the life cycle of the certificate authority, if any, and returns the authority in force.
 *
 * Flow: read the Secret from the API server → plan → create it, or replace it at the version that was read.
 * Guarantees: the Secret is never read from the cache and never written by apply, so an existing CA is not replaced by
 * accident; when another replica was faster, its version wins. An authority that cannot sign, because its key is not
 * that of its certificate, is neither used nor replaced: what it has signed is trusted for as long as it is kept.
 * Errors: those of the requests; ERR_TLS_MATERIAL for an authority that cannot sign.
 */
export async function keepAuthority(
  context: ReconcileContext,
  namespace: string,
  fieldManager: string,
  timing: CaTiming = caTiming,
): Promise<Authority> {
  const { client, clock, logger, signal } = context;
  for (let attempt = 0; ; attempt++) {
    const name = { namespace, name: names.ca };
    const secret = await getIfExists<SecretObject>(client, coreResources.secrets, name, { signal });
    const found = readCa(secret);
    const stored = 'fault' in found ? undefined : found;
    const rotate = stored?.request !== undefined && stored.request !== stored.answered;
    const storedAt = stepStoredAt(secret, fieldManager);
    const plan = await planCa(stored?.state, { now: clock.now(), commonName: names.ca, rotate, timing, storedAt });
    if (!isPair(plan.state.signer)) {
      const message = `ca.key is not the key of ca.crt in Secret ${names.ca}: restore the two, or delete the Secret to get a new authority`;
      throw new OperatorError('ERR_TLS_MATERIAL', message);
    }
    const started = plan.state.next !== undefined && stored?.state.next === undefined;
    // A rotation that is requested during another one stays pending and starts when the other has ended.
    const request = rotate && !started ? undefined : stored?.request;
    const wanted = caSecret(namespace, plan.state, request, secret);
    if (rotate && !started)
      wanted.metadata.annotations = { ...secret?.metadata.annotations, ...wanted.metadata.annotations };
    if (stored && sameContent(secret, wanted)) return plan;
    // `stepStoredAt` reads the time of the entry of this manager. A repair, which sets no date, must not move it.
    const dated = !secret || !sameMap(secret.metadata.annotations, wanted.metadata.annotations);
    try {
      await write(context, secret, wanted, dated ? fieldManager : `${fieldManager}-repair`);
      const reason = 'fault' in found ? found.fault : undefined;
      for (const change of plan.changes)
        logger[secret && reason ? 'warn' : 'info'](change, { secret: names.ca, ...(reason ? { reason } : {}) });
      return plan;
    } catch (error) {
      if (attempt > 0 || !(isAlreadyExists(error) || isConflict(error))) throw error;
    }
  }
}

function write(
  { client, signal }: ReconcileContext,
  present: SecretObject | undefined,
  wanted: SecretObject,
  fieldManager: string,
): Promise<unknown> {
  const options = { fieldManager, signal };
  return present
    ? client.update(coreResources.secrets, wanted, options)
    : client.create(coreResources.secrets, wanted, options);
}

function sameContent(present: SecretObject | undefined, wanted: SecretObject): boolean {
  return (
    sameMap(present?.data, wanted.data) &&
    sameMap(present?.metadata.annotations, wanted.metadata.annotations) &&
    // The informers of managed Secrets select by label: without its labels the Secret is absent for them.
    sameMap(present?.metadata.labels, wanted.metadata.labels)
  );
}

type TextMap = Readonly<Record<string, string>>;
const sameMap = (a: TextMap | undefined, b: TextMap | undefined): boolean =>
  JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
const sorted = (map: TextMap = {}) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
