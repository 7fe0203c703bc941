import type { Condition, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { keyOf, keyText } from '../../runtime/index.ts';

export interface PacedStatusOptions<T extends KubeObject> {
  clock: Clock;
  writer: { write(object: T, status: object, options: { signal: AbortSignal }): Promise<boolean> };
  /** Announces the changes of a written status as Events. */
  announce: (object: T, before: readonly Condition[] | undefined, after: readonly Condition[]) => void;
}

/** At most one write per object in this time, unless its generation changed. Units: ms. */
export const statusPaceMs = 5_000;

type WithStatus = KubeObject & { status?: { conditions?: Condition[] } };

/**
 * Writes statuses. Numbers in a status may change often: not every such change is written.
 *
 * Guarantees: a new generation is written immediately; otherwise one write per object in 5 s. Writes without a change
 * are skipped (by the writer). Every write except those of `writeFirst` is announced.
 */
export class PacedStatus<T extends KubeObject> {
  readonly #options: PacedStatusOptions<T>;
  readonly #last = new Map<string, { at: number; generation: number | undefined; uid: string | undefined }>();

  constructor(options: PacedStatusOptions<T>) {
    this.#options = options;
  }

  /** Writes the status before configs are compiled the first time; it is not announced, and delays no other write. */
  async writeFirst(object: T, status: object, signal: AbortSignal): Promise<void> {
    await this.#options.writer.write(object, status, { signal });
  }

  /** Writes the status that `compute` returns, or returns the number of ms until it may write. */
  async write(
    object: T,
    compute: () => { conditions?: Condition[] | undefined },
    signal: AbortSignal,
  ): Promise<{ waitMs: number | null }> {
    const key = keyText(keyOf(object));
    const { generation, uid } = object.metadata;
    const now = this.#options.clock.monotonic();
    const last = this.#last.get(key);
    if (last && last.uid === uid && last.generation === generation && now < last.at + statusPaceMs) {
      return { waitMs: last.at + statusPaceMs - now };
    }
    const status = compute();
    if (await this.#options.writer.write(object, status, { signal })) {
      this.#last.set(key, { at: now, generation, uid });
      this.#options.announce(object, (object as WithStatus).status?.conditions, status.conditions ?? []);
    }
    return { waitMs: null };
  }

  /** Forgets the last write of an object that is gone. */
  forget(key: string): void {
    this.#last.delete(key);
  }
}
