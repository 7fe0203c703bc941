import type { ExportSecrets } from '../../capture/index.ts';

/** What the revision is after values were forgotten: no controller expects it, so it delivers again what is needed. */
const reduced = 'reduced';

/** The Secret values that the controller has delivered, by `<namespace>/<name>/<key>`. They are only in memory. */
export class HeldSecrets {
  #revision = '';
  #values: ReadonlyMap<string, string> = new Map();

  /** Revision of the values: empty while there was no delivery, and after all values were forgotten. */
  get revision(): string {
    return this.#revision;
  }

  valueOf(ref: string): string | undefined {
    return this.#values.get(ref);
  }

  /** Replaces all values. */
  set({ revision, secrets }: ExportSecrets): void {
    this.#revision = revision;
    this.#values = new Map(Object.entries(secrets));
  }

  /** Forgets the values of other names. */
  keepOnly(refs: ReadonlySet<string>): void {
    const kept = [...this.#values].filter(([ref]) => refs.has(ref));
    if (kept.length === this.#values.size) return;
    this.#values = new Map(kept);
    this.#revision = kept.length > 0 ? reduced : '';
  }
}
