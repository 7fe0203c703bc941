import { sha256Hex } from '../../../base/canonical-json.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorText, isOperatorError } from '../../../base/errors.ts';
import { within } from '../../../base/time-limit.ts';
import { isForbidden } from '../../../kube/index.ts';
import type { Logger } from '../../../base/logger.ts';
import { maxCaptureBytes, maxSecretLength, type ExportSecrets } from '../../../capture/index.ts';

/** Reads one key of a Secret: its text and the version of the object; null when either is missing. */
export type ReadSecret = (
  ref: { namespace: string; name: string; key: string },
  signal: AbortSignal,
) => Promise<{ text: string; version: string } | null>;

/** Why an export's Secret has no value that could be delivered. */
export type SecretAbsence = 'missing' | 'forbidden' | 'tooLong' | 'unreadable';

/** The Secret values for one agent. */
export interface Delivery {
  readonly body: ExportSecrets;
  /** False while a value that the agent may need was not read yet. */
  readonly isWhole: boolean;
}

/** How often Secrets in use are read again, so that a rotated token reaches the agents. Units: ms. */
const refreshMs = 30_000;
/** The pause before unread Secrets are tried again, and the least time between two calls of `onChange`. Units: ms. */
const retryMs = 1_000;
const readDeadlineMs = 10_000;
/**
 * A Secret that the API server has not returned for this long counts as absent, if it did return others or tell that
 * they are missing: deliveries wait for it no longer. Units: ms.
 */
const patienceMs = 600_000;
/** Most bytes of the values in one delivery; the rest of a body's limit is for the JSON around them. */
const maxDeliveryBytes = maxCaptureBytes - 1_024;

interface Value {
  readonly text: string;
  readonly version: string;
  /** Length of its name and text in the JSON of a delivery. Units: bytes. */
  readonly bytes: number;
}

type Known = Value | SecretAbsence;

/**
 * The Secrets that exports refer to, read one by one: only Secrets that an accepted object names are read, none are
 * listed or watched, and values are kept in memory only.
 *
 * Flow: `want` takes the names that the newest compile uses → new names are read at once, and all names every 30 s →
 * a changed value calls `onChange`, at most once a second.
 * Guarantees: a read that fails leaves the last value in place; a Secret or key that was deleted, or may not be read
 * any more, is no longer used.
 */
export class ExportSecretStore {
  readonly #get: ReadSecret;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onChange: () => void;
  /** The names in use, each with the time since when. */
  #wanted: ReadonlyMap<string, number> = new Map();
  readonly #known = new Map<string, Known>();
  #reading: Promise<void> | null = null;
  /** When the newest reading of all names began. */
  #allReadAt = -Infinity;
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(options: { read: ReadSecret; clock: Clock; logger: Logger; onChange: () => void }) {
    this.#get = options.read;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#onChange = options.onChange;
  }

  /** Takes the names `<namespace>/<name>/<key>` in use; values of other names are dropped. */
  want(refs: Iterable<string>): void {
    this.#stopped = false;
    const now = this.#clock.monotonic();
    const before = this.#wanted;
    this.#wanted = new Map([...refs].map((ref) => [ref, before.get(ref) ?? now]));
    for (const ref of [...this.#known.keys()]) if (!this.#wanted.has(ref)) this.#known.delete(ref);
    if (this.#unread.length > 0) this.#refresh();
  }

  get #unread(): string[] {
    return [...this.#wanted.keys()].filter((ref) => !this.#known.has(ref));
  }

  /** Why a Secret has no value to deliver; undefined for one that has a value, or was not read yet. */
  absence(ref: string): SecretAbsence | undefined {
    const known = this.#known.get(ref);
    return typeof known === 'string' ? known : undefined;
  }

  /**
   * The Secret values for an agent whose exports refer to these names. The revision changes with any of them. Values
   * beyond the size of a delivery are left out, of the namespaces with most bytes.
   */
  deliveryFor(refs: readonly string[]): Delivery {
    const values = new Map<string, Value>();
    for (const ref of refs) {
      const known = this.#known.get(ref);
      if (typeof known === 'object') values.set(ref, known);
    }
    const fit = fitting(values, maxDeliveryBytes);
    const secrets: Record<string, string> = {};
    let versions = '';
    for (const ref of refs) {
      const value = fit.has(ref) ? values.get(ref) : undefined;
      versions += `${ref} ${value?.version ?? ''}\n`;
      if (value) secrets[ref] = value.text;
    }
    const isWhole = refs.every((ref) => this.#known.has(ref));
    return { body: { revision: sha256Hex(versions).slice(0, 32), secrets }, isWhole };
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    this.#known.clear();
    this.#wanted = new Map();
    this.#allReadAt = -Infinity;
  }

  #refresh(): void {
    if (this.#stopped || this.#reading) return;
    this.#cancel();
    const now = this.#clock.monotonic();
    const isDue = now >= this.#allReadAt + refreshMs;
    if (isDue) this.#allReadAt = now;
    this.#reading = this.#read(isDue ? [...this.#wanted.keys()] : this.#unread).finally(() => {
      this.#reading = null;
      if (this.#stopped || this.#wanted.size === 0) return;
      const wait = this.#unread.length > 0 ? 0 : this.#allReadAt + refreshMs - this.#clock.monotonic();
      this.#cancel = this.#clock.setTimeout(() => this.#refresh(), Math.max(retryMs, wait));
    });
  }

  async #read(refs: readonly string[]): Promise<void> {
    let isNews = false;
    let toldAt = this.#clock.monotonic();
    for (const ref of refs) {
      const found = await this.#readOne(ref);
      if (this.#stopped) return;
      if (found !== undefined && this.#wanted.has(ref)) {
        const before = this.#known.get(ref);
        isNews ||= before === undefined || versionOf(before) !== versionOf(found);
        this.#known.set(ref, found);
      }
      // One Secret that is slow to read must not hold back the values of all others.
      if (!isNews || this.#clock.monotonic() < toldAt + retryMs) continue;
      toldAt = this.#clock.monotonic();
      isNews = false;
      this.#onChange();
    }
    if (isNews) this.#onChange();
  }

  /** What the API server has of this name; undefined when that is not known. */
  async #readOne(ref: string): Promise<Known | undefined> {
    const [namespace = '', name = '', key = ''] = ref.split('/');
    try {
      const read = (signal: AbortSignal): ReturnType<ReadSecret> => this.#get({ namespace, name, key }, signal);
      return knownOf(ref, await within(this.#clock, readDeadlineMs, read));
    } catch (error) {
      const absence = absenceOf(error);
      if (!absence) this.#logger.warn('export secret cannot be read', { namespace, name, error: errorText(error) });
      return absence ?? this.#givenUp(ref);
    }
  }

  /** A Secret that was never read is given up after a while, unless the API server has told of none. */
  #givenUp(ref: string): Known | undefined {
    const since = this.#wanted.get(ref) ?? Infinity;
    if (this.#known.has(ref) || this.#clock.monotonic() < since + patienceMs) return undefined;
    return [...this.#known.values()].some(wasLookedUp) ? 'unreadable' : undefined;
  }
}

/** True for what the API server tells only after it has read from its store; it forbids without that. */
const wasLookedUp = (known: Known): boolean => typeof known === 'object' || known === 'missing' || known === 'tooLong';

function knownOf(ref: string, read: Awaited<ReturnType<ReadSecret>>): Known {
  if (!read) return 'missing';
  // One value that an agent refuses would make it refuse the whole delivery.
  if (read.text.length > maxSecretLength) return 'tooLong';
  return { ...read, bytes: Buffer.byteLength(JSON.stringify({ [ref]: read.text })) };
}

/**
 * The names of the values that fit into `budget` bytes together. Each namespace has an equal share of it, and what one
 * does not need is for those that need more.
 */
function fitting(values: ReadonlyMap<string, Value>, budget: number): ReadonlySet<string> {
  const needs = new Map<string, number>();
  for (const [ref, { bytes }] of values) needs.set(namespaceOf(ref), (needs.get(namespaceOf(ref)) ?? 0) + bytes);
  const shares = new Map<string, number>();
  let left = budget;
  for (const [namespace, need] of [...needs].toSorted(([, a], [, b]) => a - b)) {
    const share = Math.min(need, Math.floor(left / (needs.size - shares.size)));
    shares.set(namespace, share);
    left -= share;
  }
  const fit = new Set<string>();
  for (const [ref, { bytes }] of values) {
    const share = shares.get(namespaceOf(ref))! - bytes;
    if (share < 0) continue;
    shares.set(namespaceOf(ref), share);
    fit.add(ref);
  }
  return fit;
}

const namespaceOf = (ref: string): string => ref.slice(0, ref.indexOf('/'));

const versionOf = (known: Known): string => (typeof known === 'string' ? known : known.version);

function absenceOf(error: unknown): SecretAbsence | undefined {
  if (isOperatorError(error, 'ERR_API_NOT_FOUND')) return 'missing';
  return isForbidden(error) ? 'forbidden' : undefined;
}
