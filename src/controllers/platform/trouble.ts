import { isOperatorError } from '../../base/errors.ts';
import type { ControllerSpec } from '../../runtime/index.ts';
import { refusalOf, type Refusal } from '../refusal.ts';

/** The checks that find faults of the product's own objects, which the operator applies. */
export type TroubleSource = 'apply' | 'pods' | 'kinds';

/** The worst first: an object that cannot be written explains missing pods. */
const order: readonly TroubleSource[] = ['kinds', 'apply', 'pods'];

/**
 * The fault of the agents' and query server's own objects. No object represents the installation, so the policies
 * report the fault in their status: that is where a platform team looks.
 * Shape: one entry per source; listeners are called when a finding changes, not with every check.
 */
export class PlatformTrouble {
  readonly #found = new Map<TroubleSource, Refusal>();
  readonly #listeners = new Set<(trouble: Refusal | undefined) => void>();

  /** The fault to report; undefined when there is none. */
  get current(): Refusal | undefined {
    for (const source of order) {
      const found = this.#found.get(source);
      if (found) return found;
    }
    return undefined;
  }

  /** Records the current finding of a source; undefined when nothing is wrong. Returns whether it changed. */
  report(source: TroubleSource, trouble: Refusal | undefined): boolean {
    const known = this.#found.get(source);
    if (known?.reason === trouble?.reason && known?.message === trouble?.message) return false;
    if (trouble) this.#found.set(source, trouble);
    else this.#found.delete(source);
    for (const listener of this.#listeners) listener(this.current);
    return true;
  }

  onChange(listener: (trouble: Refusal | undefined) => void): void {
    this.#listeners.add(listener);
  }
}

/**
 * A reconcile that also reports its failure as trouble, until a run succeeds. The failure is thrown all the same. What
 * ends with a shutdown is not reported.
 */
export function reportingTo(
  trouble: PlatformTrouble,
  reconcile: ControllerSpec['reconcile'],
): ControllerSpec['reconcile'] {
  return async (context) => {
    try {
      const result = await reconcile(context);
      trouble.report('apply', undefined);
      return result;
    } catch (error) {
      if (!isOperatorError(context.signal.reason, 'ERR_ABORTED')) trouble.report('apply', refusalOf(error));
      throw error;
    }
  };
}
