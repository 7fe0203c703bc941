import type { ControllerSpec } from '../../runtime/index.ts';
import { refusalOf, type Refusal } from '../refusal.ts';

/** What can be wrong with the platform itself, by who found it out. */
export type TroubleSource = 'apply' | 'pods' | 'kinds';

/** The worse first: what keeps objects from being written explains what pods lack. */
const order: readonly TroubleSource[] = ['kinds', 'apply', 'pods'];

/**
 * What is wrong with the agents' and query server's own objects. There is no object that stands for the platform, so
 * the policies tell it in their status: they are where a platform team looks.
 * Shape: one entry per source; listeners are called when the answer changes, not with every look.
 */
export class PlatformTrouble {
  readonly #found = new Map<TroubleSource, Refusal>();
  readonly #listeners = new Set<(trouble: Refusal | undefined) => void>();

  /** The one to tell about; undefined when all is well. */
  get current(): Refusal | undefined {
    for (const source of order) {
      const found = this.#found.get(source);
      if (found) return found;
    }
    return undefined;
  }

  /** What a source finds now; undefined when nothing is wrong. Returns whether that is a change. */
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

/** A reconcile whose failures are reported as trouble until it succeeds. It still fails. */
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
      if (!context.signal.aborted) trouble.report('apply', refusalOf(error));
      throw error;
    }
  };
}
