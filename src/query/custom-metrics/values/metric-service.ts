import { errorText, isOperatorError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { childrenOf, type Expr, type Matcher, parse, typeOf } from '../../../promql/index.ts';
import type { ValuePath } from '../api/paths.ts';
import { badRequest, lacksNodes, metricNotFound, notReady, StatusError, storeFailed } from '../api/status-error.ts';
import { customValueList, externalValueList, type LabelledValue } from '../api/value-lists.ts';
import { parseLabelSelector, toMatchers } from '../label-selector.ts';
import type { CustomMetricsMeter } from '../metrics.ts';
import type { MetricProvider, MetricQuery, MetricRequest } from '../providers/provider.ts';
import type { DescribedResource } from '../../../api/described-resources.ts';
import { byObject, type Row } from './evaluate.ts';
import type { ObjectLookup } from './objects.ts';
import type { Evaluated, ValueCache } from './value-cache.ts';

/**
 * Whether each row of an expression's result is computed only from series with one and the same value of the label. If
 * the label is the recorded pod's or node's name, all series of a row are then on one node. So a row is either whole or
 * absent, whichever nodes are missing, and its value is never too small.
 * Conservative: false for an expression that it cannot judge.
 */
export function isPartitionedBy(query: string, label: string): boolean {
  return keeps(parse(query), label);
}

const crossing = new Set([
  'absent',
  'absent_over_time',
  'scalar',
  'vector',
  'info',
  'label_replace',
  'label_join',
  'histogram_quantiles',
]);

function keeps(expr: Expr, label: string): boolean {
  if (!childrenOf(expr).every((child) => keeps(child, label))) return false;
  switch (expr.kind) {
    case 'call':
      return !crossing.has(expr.func.name);
    case 'aggregate':
      return expr.without !== expr.grouping.includes(label);
    case 'binary': {
      const oneSided = typeOf(expr.left) === 'scalar' || typeOf(expr.right) === 'scalar';
      return oneSided || expr.matching === null || expr.matching.on === expr.matching.labels.includes(label);
    }
    default:
      return true;
  }
}

export interface MetricServiceOptions {
  /**
   * Where metrics come from. Of several providers that know a metric, the first answers. None answers in the place of one
   * that is not ready.
   */
  readonly providers: readonly MetricProvider[];
  readonly values: Pick<ValueCache, 'get'>;
  readonly objects: Pick<ObjectLookup, 'names' | 'ready'>;
  readonly logger: Logger;
  readonly meter: CustomMetricsMeter;
  /** Whether a value that is computed over several nodes is served even when one of them is missing. */
  readonly partialAggregates: boolean;
  /** Wall time, ms. */
  readonly now: () => number;
}

export interface Selectors {
  readonly labelSelector: string | undefined;
  readonly metricLabelSelector: string | undefined;
}

type CustomPath = Extract<ValuePath, { kind: 'custom' }>;
type ExternalPath = Extract<ValuePath, { kind: 'external' }>;

/**
 * The values of the custom and external metrics, for autoscalers.
 * Guarantees: a missing node, and pods on it, are left out. A value over several nodes is an error when one of them is
 * missing, never a smaller number, unless `partialAggregates` is set. NaN and infinities are left out.
 * Errors: StatusError.
 */
export class MetricService {
  readonly #options: MetricServiceOptions;

  constructor(options: MetricServiceOptions) {
    this.#options = options;
  }

  /** Whether any provider has the metric for this kind of object, or the external metric. Errors: StatusError 500, 503. */
  knows(path: CustomPath | ExternalPath): boolean {
    const { namespace, metric } = path;
    const { resource, name } = path.kind === 'custom' ? path : { resource: undefined, name: '*' };
    const names = name === '*' ? undefined : [name];
    return this.#find({ resource, namespace, metric, matchers: [], names }) !== undefined;
  }

  async custom(path: CustomPath, selectors: Selectors): Promise<{ body: unknown; degraded: boolean }> {
    const { resource, namespace, name, metric, version } = path;
    const names = await this.#names(path, selectors.labelSelector);
    const matchers = metricMatchers(selectors.metricLabelSelector, 'metricLabelSelector');
    const query = this.#find({ resource, namespace, metric, matchers, names });
    const one = name === '*' ? undefined : name;
    if (!query) throw metricNotFound(metric, resource.name, one);
    const evaluated = await this.#evaluate(query, metric, namespace);
    const missing = evaluated.missingNodes;
    const rows =
      query.label === undefined ? describeNamespace(evaluated.rows, one) : byObject(evaluated.rows, query.label);
    if (missing.length > 0) this.#checkWhole(query, resource, metric, missing);
    const wanted = names ? [...new Set(names)] : [...rows.keys()];
    const values = wanted.sort().flatMap((object) => {
      const row = rows.get(object);
      return row ? [{ name: object, value: row.value, timeMs: row.timeMs, windowMs: query.windowMs }] : [];
    });
    if (one !== undefined && values.length === 0) {
      if (missing.length > 0) throw this.#refused(metric, missing);
      throw metricNotFound(metric, resource.name, one);
    }
    if (missing.length > 0) this.#options.meter.degraded('omitted');
    this.#observe(values);
    const subject = { version, resource, namespace, metric, metricLabelSelector: selectors.metricLabelSelector };
    return { body: customValueList(subject, values), degraded: missing.length > 0 };
  }

  /** The values of an external metric. An unknown metric gives an empty list. */
  async external(path: ExternalPath, labelSelector: string | undefined): Promise<{ body: unknown; degraded: boolean }> {
    const { namespace, metric } = path;
    const matchers = metricMatchers(labelSelector, 'labelSelector');
    const query = this.#find({ resource: undefined, namespace, metric, matchers, names: undefined });
    if (!query) return { body: externalValueList(metric, []), degraded: false };
    const { rows, missingNodes } = await this.#evaluate(query, metric, namespace);
    if (missingNodes.length > 0 && !this.#options.partialAggregates) throw this.#refused(metric, missingNodes);
    const values: LabelledValue[] = rows
      .filter((row) => Number.isFinite(row.value))
      .map(({ labels: { __name__: _, ...labels }, value, timeMs }) => ({
        labels,
        value,
        timeMs,
        windowMs: query.windowMs,
      }));
    this.#observe(values);
    return { body: externalValueList(metric, values), degraded: missingNodes.length > 0 };
  }

  /** The names of the requested objects; undefined for all objects that have values. */
  async #names(
    { resource, namespace, name }: CustomPath,
    labelSelector: string | undefined,
  ): Promise<string[] | undefined> {
    const isPods = resource.name === 'pods';
    if (isPods && !this.#options.objects.ready) throw notReady('the list of pods is not complete');
    if (name !== '*' && (!labelSelector || !isPods)) return [name];
    if (!isPods && !labelSelector) return undefined;
    try {
      const names = await this.#options.objects.names(resource, namespace, labelSelector ?? '');
      return name === '*' ? names : names.filter((one) => one === name);
    } catch (error) {
      if (isOperatorError(error, 'ERR_INPUT_INVALID')) throw badRequest(errorText(error));
      this.#options.logger.warn('objects could not be listed', { resource: resource.name, error: errorText(error) });
      throw new StatusError(500, 'InternalError', 'unable to list matching resources', { cause: error });
    }
  }

  #find(request: MetricRequest): MetricQuery | undefined {
    try {
      for (const provider of this.#options.providers) {
        const query = provider.find(request);
        if (query) return query;
        const reason = provider.notReady?.();
        if (reason !== undefined) throw notReady(reason);
      }
      return undefined;
    } catch (error) {
      if (error instanceof StatusError) throw error;
      this.#options.logger.error('the query of a metric is invalid', { error: errorText(error) });
      throw storeFailed(error);
    }
  }

  async #evaluate(query: MetricQuery, metric: string, namespace: string | undefined): Promise<Evaluated> {
    try {
      return await this.#options.values.get(query, namespace);
    } catch (error) {
      this.#options.logger.error('a metric could not be evaluated', { metric, error: errorText(error) });
      throw storeFailed(error);
    }
  }

  /** Errors: 503, unless each row comes from one node or the administrator allows partial aggregates. */
  #checkWhole(
    query: MetricQuery,
    { name, label }: DescribedResource,
    metric: string,
    missing: readonly string[],
  ): void {
    // Any other label, such as that of a flow's far end, may name a pod of another node.
    const ofOneNode = (name === 'pods' || name === 'nodes') && query.label === label;
    if (ofOneNode && isPartitionedBy(query.value, label)) return;
    if (!this.#options.partialAggregates) throw this.#refused(metric, missing);
  }

  #refused(metric: string, missing: readonly string[]): StatusError {
    this.#options.meter.degraded('refused');
    return lacksNodes(metric, missing);
  }

  #observe(values: readonly { timeMs: number }[]): void {
    const now = this.#options.now();
    for (const { timeMs } of values) this.#options.meter.freshness(Math.max(0, now - timeMs) / 1000);
  }
}

function metricMatchers(selector: string | undefined, field: string): Matcher[] {
  try {
    return toMatchers(parseLabelSelector(selector ?? '', field));
  } catch (error) {
    throw badRequest(errorText(error));
  }
}

/** Rows without an object's name describe the requested namespace. */
function describeNamespace(rows: readonly Row[], name: string | undefined): Map<string, Row> {
  if (name === undefined) return new Map();
  return byObject(
    rows.map((row) => ({ ...row, labels: { name } })),
    'name',
  );
}
