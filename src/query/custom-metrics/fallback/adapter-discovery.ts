import { sleep, type Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { customGroup, customVersions, externalGroup, type CustomVersion } from '../api/paths.ts';
import type { AdapterClient } from './adapter-client.ts';
import { AdapterFailure } from './adapter-failure.ts';
import { readCustomNames, readExternalNames, type OfferedMetric } from './read-names.ts';

/** The metrics of the second adapter, another server of custom metrics, by API version. */
export interface AdapterOffer {
  readonly custom: Readonly<Record<CustomVersion, readonly OfferedMetric[]>>;
  readonly external: readonly string[];
}

export interface AdapterDiscoveryOptions {
  readonly client: Pick<AdapterClient, 'get' | 'name'>;
  /** Whether the adapter's external metrics are used, too. */
  readonly external: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const everyMs = 60_000;
/** Delay after a failure. */
const againMs = 10_000;
/** How long the adapter's last answer is used after it stops answering. */
const keptMs = 600_000;
const maxBytes = 16 * 1024 * 1024;
const nothing: AdapterOffer = { custom: { v1beta1: [], v1beta2: [] }, external: [] };

/** Polls the second adapter's discovery in the background, so that readers never wait for it. */
export class AdapterDiscovery {
  readonly #options: AdapterDiscoveryOptions;
  #offer = nothing;
  #readAt = 0;
  #failing: string | undefined;

  constructor(options: AdapterDiscoveryOptions) {
    this.#options = options;
  }

  get offer(): AdapterOffer {
    return this.#offer;
  }

  /** The number of metrics that the adapter offers in any version; a metric counts once for each kind of object. */
  get size(): number {
    const offered = Object.values(this.#offer.custom).flat();
    return new Set(offered.map(({ resource, metric }) => `${resource}/${metric}`)).size;
  }

  /** Polls until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isGood = await this.#refresh(signal);
      await sleep(this.#options.clock, isGood ? everyMs : againMs, signal).catch(() => {});
    }
  }

  async #refresh(signal: AbortSignal): Promise<boolean> {
    const { client, clock, logger } = this.#options;
    try {
      this.#offer = await this.#read();
      this.#readAt = clock.monotonic();
      if (this.#failing !== undefined) logger.info('the second adapter answers', { adapter: client.name });
      this.#failing = undefined;
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const reason = errorText(error);
      if (this.#failing !== reason) {
        const text = 'the metrics of the second adapter cannot be listed; its last list is used for a while';
        logger.warn(text, { adapter: client.name, error: reason });
      }
      this.#failing = reason;
      if (clock.monotonic() - this.#readAt >= keptMs) this.#offer = nothing;
      return false;
    }
  }

  async #read(): Promise<AdapterOffer> {
    const [old, recent] = customVersions.map((version) => this.#list(`${customGroup}/${version}`, readCustomNames));
    const external = this.#options.external ? this.#list(`${externalGroup}/v1beta1`, readExternalNames) : [];
    const [v1beta1, v1beta2, names] = await Promise.all([old!, recent!, external]);
    if (v1beta1 === undefined && v1beta2 === undefined && (names ?? []).length === 0) {
      throw new AdapterFailure('failed', `it does not serve ${customGroup}`);
    }
    return { custom: { v1beta1: v1beta1 ?? [], v1beta2: v1beta2 ?? [] }, external: names ?? [] };
  }

  /** Gets the adapter's list for one group and version; undefined if the adapter does not serve that version. */
  async #list<T>(groupVersion: string, read: (text: Buffer, groupVersion: string) => T[]): Promise<T[] | undefined> {
    const { status, body } = await this.#options.client.get(`/apis/${groupVersion}`, maxBytes);
    if (status === 404) return undefined;
    if (status !== 200) throw failureOfStatus(status);
    return read(body, groupVersion);
  }
}

/** The error for an answer other than 200 and 404. */
export function failureOfStatus(status: number): AdapterFailure {
  if (status === 508) {
    return new AdapterFailure('loop', 'it is a query server like this one, and would pass the request on');
  }
  if (status === 401 || status === 403) {
    return new AdapterFailure('refused', `it does not let this query server read (HTTP ${status})`);
  }
  return new AdapterFailure('failed', `HTTP ${status}`);
}
