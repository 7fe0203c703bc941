import type { KubeObject } from '../../api/meta.ts';
import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import { foreignEdits, type Drift } from './drift.ts';
import { ownsExactly } from './managed-fields.ts';

interface InPlace {
  /** Hash of the wanted content. */
  wish: string;
  uid: string | undefined;
  resourceVersion: string | undefined;
  /** The uids of the owners: an object of the same name under a new owner is another child. */
  owners: string;
}

/** The largest number of remembered children. If more come, the oldest are forgotten: their drift is not reported. */
const maxRemembered = 20_000;

/**
 * Remembers, by child, the content that was seen in place. A child that differs from that content has drifted. Wanted
 * content that differs from it is a change of our own.
 * Guarantees: content that the server keeps rewriting (admission) was never seen in place and is not drift; nor is a
 * child of a new owner.
 * Caveats: it starts empty, so a child that was deleted while no operator ran is recreated without an Event.
 */
export class DriftMemory {
  readonly #manager: string;
  readonly #inPlace = new Map<string, InPlace>();

  constructor(manager: string) {
    this.#manager = manager;
  }

  knows(key: string): boolean {
    return this.#inPlace.has(key);
  }

  forget(key: string): void {
    this.#inPlace.delete(key);
  }

  /** Whether `live` is the very version in which the content was last seen in place. */
  saw(key: string, { metadata: { uid, resourceVersion } }: KubeObject): boolean {
    const known = this.#inPlace.get(key);
    return known !== undefined && known.uid === uid && known.resourceVersion === resourceVersion;
  }

  /** Remembers the content if it is in place in `live`, which was read or is the answer to a write. */
  settled(key: string, wanted: KubeObject, live: KubeObject): void {
    const { uid, resourceVersion } = live.metadata;
    // The same version has the same wanted content: no need to hash it on every call.
    if (this.saw(key, live)) return;
    this.#inPlace.delete(key);
    if (!ownsExactly(live, wanted, this.#manager)) return;
    if (this.#inPlace.size >= maxRemembered) this.#inPlace.delete(this.#inPlace.keys().next().value!);
    this.#inPlace.set(key, { wish: wishOf(wanted), uid, resourceVersion, owners: ownersOf(wanted) });
  }

  /** Whether a rewritten child had been changed by another manager; `before` is undefined when the child was absent. */
  judge(key: string, wanted: KubeObject, before: KubeObject | undefined): Drift | undefined {
    const known = this.#inPlace.get(key);
    if (!before) {
      return known?.owners === ownersOf(wanted) ? { what: 'deleted', managers: [], fields: [] } : undefined;
    }
    const edits = foreignEdits(before, wanted, this.#manager);
    if (edits.fields.length === 0 && known?.wish !== wishOf(wanted)) return undefined;
    return { what: 'edited', ...edits };
  }
}

const wishOf = (wanted: KubeObject): string => sha256Hex(canonicalJson(wanted));
const ownersOf = ({ metadata }: KubeObject): string => (metadata.ownerReferences ?? []).map(({ uid }) => uid).join();
