import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorText, isOperatorError, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import { compileMatcher, parse, QueryError, selectorsOf } from '../../promql/index.ts';
import { type Labels, labelValue } from '../../tsdb/index.ts';
import type { ExemplarRing } from '../exemplars/exemplar-ring.ts';
import type { Family } from '../mapping/series-table.ts';
import { readRawBody } from '../otlp/request-body.ts';
import { answerJson } from './answers.ts';
import type { Route } from './routes.ts';

export interface DetailsOptions {
  readonly exemplars: ExemplarRing;
  /** The metric families that have series now. */
  readonly families: () => Iterable<Family>;
  /** The label that is added to series that lack it. */
  readonly partition: { readonly label: string; readonly value: string };
  readonly logger: Logger;
}

const maxBodyBytes = 1024 * 1024;

/**
 * Details that the store does not hold for its series, in the form of Prometheus' API: `/api/v1/query_exemplars`
 * (`query`, `start`, `end`) and `/api/v1/metadata`. The TLS listener in front of it decides which clients may call.
 */
export function detailsRoutes(options: DetailsOptions): Route[] {
  return [
    {
      path: '/api/v1/metadata',
      methods: ['GET'],
      serve: (_req, res) => answerJson(res, 200, { status: 'success', data: metadataOf(options.families()) }),
    },
    {
      path: '/api/v1/query_exemplars',
      methods: ['GET', 'POST'],
      serve: (req, res) =>
        serveExemplars(req, res, options).catch((error: unknown) => {
          const bad = error instanceof QueryError || isOperatorError(error);
          if (!bad) options.logger.warn('exemplars could not be answered', { error: errorText(error) });
          if (res.headersSent) return void res.destroy();
          const [status, errorType] = bad ? ([400, 'bad_data'] as const) : ([500, 'internal'] as const);
          answerJson(res, status, { status: 'error', errorType, error: errorText(error) });
        }),
    },
  ];
}

async function serveExemplars(req: IncomingMessage, res: ServerResponse, options: DetailsOptions): Promise<void> {
  const { exemplars, partition } = options;
  const body = req.method === 'POST' ? (await readRawBody(req, maxBodyBytes)).toString() : '';
  const params = body === '' ? requestTarget(req).params : new URLSearchParams(body);
  const sets = selectorsOf(parse(params.get('query') ?? '', { experimentalFunctions: true }));
  const seconds = (name: string, missing: number): number => {
    const ms = params.has(name) ? Number(params.get(name)) * 1000 : missing;
    if (Number.isNaN(ms)) throw new OperatorError('ERR_INPUT_INVALID', `${name}: must be a number of seconds`);
    return ms;
  };
  const found = exemplars.select(
    sets.map((matchers) => matchers.map(compileMatcher)),
    seconds('start', -Infinity),
    seconds('end', Infinity),
    (labels) => withPartition(labels, partition),
  );
  const data = found.map(({ labels, exemplars: list }) => ({
    seriesLabels: Object.fromEntries(labels),
    exemplars: list.map(({ traceId, spanId, value, timeNs }) => ({
      labels: spanId === '' ? { trace_id: traceId } : { trace_id: traceId, span_id: spanId },
      value: String(value),
      timestamp: Math.round(timeNs / 1e6) / 1000,
    })),
  }));
  answerJson(res, 200, { status: 'success', data });
}

/** The labels as the store returns them. */
function withPartition(labels: Labels, { label, value }: DetailsOptions['partition']): Labels {
  if (labelValue(labels, label) !== '') return labels;
  const pairs = [...labels, [label, value] as const];
  return pairs.sort(([a], [b]) => (a < b ? -1 : 1));
}

function metadataOf(families: Iterable<Family>): Record<string, readonly object[]> {
  const data: Record<string, readonly object[]> = {};
  for (const { name, type, help, unit } of families) data[name] = [{ type, help, unit }];
  return data;
}
