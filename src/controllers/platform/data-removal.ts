import type { KubeObject } from '../../api/meta.ts';
import { coreResources, getIfExists, isNotFound } from '../../kube/index.ts';
import { isWaitingRemoval, names } from '../../render/index.ts';
import type { ReconcileContext } from '../../runtime/index.ts';

/**
 * How long agents wait for the pods of a removal to end. Those of nodes that answer have ended by then, because their
 * grace period is five seconds. A kubelet that answers later does not start a pod again that is to be deleted. Units: ms.
 */
const longestWaitMs = 60_000;

/** Ends a removal of data that was given up, before agents are applied. */
export class DataRemoval {
  readonly #namespace: string;
  /** The removal that was last seen being deleted, and since when: monotonic time in ms. */
  #ending: { readonly uid: string | undefined; readonly sinceMs: number } | undefined;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /**
   * Deletes a removal that was given up: its pods empty the agents' folder on every node that is new or restarts.
   * Returns whether its pods may still run, so that agents must not be applied yet. A removal that waits is left alone:
   * it has no pods, and belongs to an uninstallation that is about to end the operator.
   * Errors: those of the requests.
   */
  async end(context: Pick<ReconcileContext, 'client' | 'clock' | 'logger' | 'signal'>): Promise<boolean> {
    const { client, clock, logger, signal } = context;
    const { daemonSets } = coreResources;
    const name = { namespace: this.#namespace, name: names.dataRemoval };
    const found = await getIfExists<KubeObject>(client, daemonSets, name, { signal });
    if (!found || isWaitingRemoval(found)) return false;
    const { uid, deletionTimestamp } = found.metadata;
    if (deletionTimestamp) {
      // Not by `deletionTimestamp`: the API server's clock and ours may differ by any amount.
      if (this.#ending?.uid !== uid) this.#ending = { uid, sinceMs: clock.monotonic() };
      return clock.monotonic() < this.#ending!.sinceMs + longestWaitMs;
    }
    logger.info('a removal of data that was given up is deleted before agents are applied', { object: name });
    try {
      await client.delete(daemonSets, name, { uid, propagation: 'Foreground', signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return true;
  }
}
