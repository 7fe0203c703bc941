import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { ValuePath } from '../api/paths.ts';
import { badRequest, metricNotFound, StatusError } from '../api/status-error.ts';
import { externalValueList } from '../api/value-lists.ts';
import type { CustomMetricsMeter } from '../metrics.ts';
import type { AdapterClient } from './adapter-client.ts';
import { failureOfStatus } from './adapter-discovery.ts';
import { AdapterFailure } from './adapter-failure.ts';
import { isPlainPath } from './passed-on.ts';
import { readValues } from './read-values.ts';

export interface SecondAdapterOptions {
  readonly client: Pick<AdapterClient, 'get' | 'name'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Pick<CustomMetricsMeter, 'fallback'>;
}

/** The most bytes of an answer: enough for the values of some 50,000 pods. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Forwards requests for metrics that this server does not have to another server of the same API.
 * Guarantees: an answer that is passed on is a list of the requested kind and version, with the requested objects and
 * metric.
 */
export class SecondAdapter {
  readonly #options: SecondAdapterOptions;

  constructor(options: SecondAdapterOptions) {
    this.#options = options;
  }

  /**
   * The answer to an authorized request. `url` is its path and query, which are forwarded unchanged.
   * Errors: StatusError 404 for a metric that neither server has, 400 for a request that the adapter refuses, 503 for
   * its failures.
   */
  async values(path: ValuePath, url: Pick<URL, 'pathname' | 'search'>): Promise<unknown> {
    const { client, clock, logger, meter } = this.#options;
    if (!isPlainPath(url.pathname)) return unknownTo(path);
    const started = clock.monotonic();
    const told = (outcome: Parameters<typeof meter.fallback>[0]): void =>
      meter.fallback(outcome, (clock.monotonic() - started) / 1000);
    try {
      const { status, body } = await client.get(url.pathname + url.search, maxBytes);
      if (status === 404) {
        told('unknown');
        return unknownTo(path);
      }
      if (status === 400) {
        told('refused');
        throw badRequest(`the second adapter ${client.name} refuses the request for the metric ${path.metric}`);
      }
      if (status !== 200) throw failureOfStatus(status);
      const values = readValues(body, path);
      told('answered');
      return values;
    } catch (error) {
      if (!(error instanceof AdapterFailure)) throw error;
      told(error.outcome);
      logger.warn('a metric could not be read from the second adapter', {
        adapter: client.name,
        metric: path.metric,
        outcome: error.outcome,
        error: errorText(error),
      });
      const what = `the metric ${path.metric} is asked of the second adapter ${client.name}`;
      throw new StatusError(503, 'ServiceUnavailable', `${what}, which failed: ${error.message}`, { cause: error });
    }
  }
}

/** The answer for an unknown metric. Errors: StatusError 404; an unknown external metric is an empty list. */
function unknownTo(path: ValuePath): unknown {
  if (path.kind === 'external') return externalValueList(path.metric, []);
  const { metric, name, attributes } = path;
  const resource = path.kind === 'custom' ? path.resource.name : attributes.resource;
  throw metricNotFound(metric, resource, name === '*' ? undefined : name);
}
