import { sha256Hex } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError } from '../../base/errors.ts';
import { within } from '../../base/time-limit.ts';
import { isForbidden } from '../../kube/index.ts';
import type { Logger } from '../../base/logger.ts';
import type { ExportSecrets } from '../../capture/index.ts';

/** Reads one key of a Secret: its text and the version of the object; null when either is missing. */
export type ReadSecret = (
  ref: { namespace: string; name: string; key: string },
  signal: AbortSignal,
) => Promise<{ text: string; version: string } | null>;

/** Why an export's Secret has no value. */
export type SecretAbsence = 'missing' | 'forbidden';

/** How often Secrets in use are read again, so that a rotated token reaches the agents. Units: ms. */
const refreshMs = 30_000;
const readDeadlineMs = 10_000;

type Known = { readonly text: string; readonly version: string } | 'missing' | 'forbidden';

/**
 * The Secrets that exports refer to, read one by one: only Secrets that an accepted object names are read, none are
 * listed or watched, and values are kept in memory only.
 *
 * Flow: `want` takes the names that the newest compile uses → new names are read at once, and all names every 30 s →
 * a changed value calls `onChange`.
 * Guarantees: a read that fails leaves the last value in place; a Secret or key that was deleted, or may not be read
 * any more, is no longer used.
 */
export class ExportSecretStore {
  readonly #read: ReadSecret;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onChange: () => void;
  #wanted: ReadonlySet<string> = new Set();
  readonly #known = new Map<string, Known>();
  #reading: Promise<void> | null = null;
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(options: { read: ReadSecret; clock: Clock; logger: Logger; onChange: () => void }) {
    this.#read = options.read;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#onChange = options.onChange;
  }

  /** Takes the names `<namespace>/<name>/<key>` in use; values of other names are dropped. */
  want(refs: Iterable<string>): void {
    this.#stopped = false;
    this.#wanted = new Set(refs);
    for (const ref of [...this.#known.keys()]) if (!this.#wanted.has(ref)) this.#known.delete(ref);
    if ([...this.#wanted].some((ref) => !this.#known.has(ref))) this.#refresh();
  }

  /** Why there is no value, once that is known: the Secret or its key does not exist, or may not be read. */
  absence(ref: string): SecretAbsence | undefined {
    const known = this.#known.get(ref);
    return typeof known === 'string' ? known : undefined;
  }

  /** The Secret values for an agent whose exports refer to these names. The revision changes with any of them. */
  deliveryFor(refs: readonly string[]): ExportSecrets {
    const secrets: Record<string, string> = {};
    let versions = '';
    for (const ref of refs) {
      const known = this.#known.get(ref);
      const value = typeof known === 'object' ? known : undefined;
      versions += `${ref} ${value?.version ?? ''}\n`;
      if (value) secrets[ref] = value.text;
    }
    return { revision: sha256Hex(versions).slice(0, 32), secrets };
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    this.#known.clear();
    this.#wanted = new Set();
  }

  #refresh(): void {
    if (this.#stopped || this.#reading) return;
    this.#cancel();
    this.#reading = this.#readAll().finally(() => {
      this.#reading = null;
      if (this.#stopped || this.#wanted.size === 0) return;
      if ([...this.#wanted].some((ref) => !this.#known.has(ref))) {
        this.#cancel = this.#clock.setTimeout(() => this.#refresh(), 1_000);
      } else this.#cancel = this.#clock.setTimeout(() => this.#refresh(), refreshMs);
    });
  }

  async #readAll(): Promise<void> {
    let changed = false;
    for (const ref of this.#wanted) {
      const [namespace = '', name = '', key = ''] = ref.split('/');
      let found: Known;
      try {
        const read = (signal: AbortSignal): ReturnType<ReadSecret> => this.#read({ namespace, name, key }, signal);
        found = (await within(this.#clock, readDeadlineMs, read)) ?? 'missing';
      } catch (error) {
        const absence = absenceOf(error);
        if (!absence) {
          this.#logger.warn('export secret cannot be read', { namespace, name, error: errorText(error) });
          continue;
        }
        found = absence;
      }
      if (this.#stopped || !this.#wanted.has(ref)) continue;
      const before = this.#known.get(ref);
      if (before === undefined || versionOf(before) !== versionOf(found)) changed = true;
      this.#known.set(ref, found);
    }
    if (changed && !this.#stopped) this.#onChange();
  }
}

const versionOf = (known: Known): string => (typeof known === 'string' ? known : known.version);

function absenceOf(error: unknown): SecretAbsence | undefined {
  if (isOperatorError(error, 'ERR_API_NOT_FOUND')) return 'missing';
  return isForbidden(error) ? 'forbidden' : undefined;
}
