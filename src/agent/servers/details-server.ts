import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { fairPlaces, Gate } from '../../base/turns/gate.ts';
import { Pace, type Pacing, turns } from '../../base/turns/turns.ts';
import { callerIn } from '../../net/auth/caller.ts';
import { goneSignal } from '../../net/http/index.ts';
import { parse, QueryError, selectorsOf } from '../../promql/index.ts';
import { compileSets, type Labels, labelValue } from '../../tsdb/index.ts';
import type { ExemplarRing, ExemplarSeries } from '../exemplars/exemplar-ring.ts';
import type { Family } from '../mapping/series-table.ts';
import { readRawBody } from '../otlp/request-body.ts';
import { answerJson, answerText } from './answers.ts';
import type { Route } from './routes.ts';

export interface DetailsOptions {
  readonly exemplars: ExemplarRing;
  /** The metric families that have series now. */
  readonly families: () => Iterable<Family>;
  /** The label that is added to series that lack it. */
  readonly partition: { readonly label: string; readonly value: string };
  readonly clock: Clock;
  readonly logger: Logger;
}

const maxBodyBytes = 1024 * 1024;
/** Requests for exemplars that are answered at a time; others wait. */
const concurrency = 4;
/** Longest time of one such request, waiting included. Milliseconds. */
const deadlineMs = 60_000;

/**
 * Details that the store does not hold for its series, in the form of Prometheus' API: `/api/v1/query_exemplars`
 * (`query`, `start`, `end`) and `/api/v1/metadata`. The TLS listener in front of it decides which clients may call.
 */
export function detailsRoutes(options: DetailsOptions): Route[] {
  const gate = new Gate(concurrency, fairPlaces);
  return [
    {
      path: '/api/v1/metadata',
      methods: ['GET'],
      serve: (_req, res) => answerJson(res, 200, { status: 'success', data: metadataOf(options.families()) }),
    },
    {
      path: '/api/v1/query_exemplars',
      methods: ['GET', 'POST'],
      serve: (req, res) => {
        const gone = goneSignal(res);
        return serveExemplars(req, res, gone, gate, options).catch((error: unknown) => {
          if (!gone.aborted) refuse(res, error, options.logger);
        });
      },
    },
  ];
}

function refuse(res: ServerResponse, error: unknown, logger: Logger): void {
  const isLate = isOperatorError(error, 'ERR_TIMEOUT');
  const isBad = !isLate && (error instanceof QueryError || isOperatorError(error));
  if (!isBad) logger.warn('exemplars could not be answered', { error: errorText(error) });
  if (res.headersSent) return void res.destroy();
  const [status, errorType] = isLate ? [503, 'timeout'] : isBad ? [400, 'bad_data'] : [500, 'internal'];
  answerJson(res, status, { status: 'error', errorType, error: errorText(error) });
}

async function serveExemplars(
  req: IncomingMessage,
  res: ServerResponse,
  gone: AbortSignal,
  gate: Gate,
  { exemplars, partition, clock }: DetailsOptions,
): Promise<void> {
  const body = req.method === 'POST' ? (await readRawBody(req, maxBodyBytes)).toString() : '';
  const params = body === '' ? requestTarget(req).params : new URLSearchParams(body);
  const selectors = selectorsOf(parse(params.get('query') ?? '', { experimentalFunctions: true }));
  const seconds = (name: string, missing: number): number => {
    const ms = params.has(name) ? Number(params.get(name)) * 1000 : missing;
    if (Number.isNaN(ms)) throw new OperatorError('ERR_INPUT_INVALID', `${name}: must be a number of seconds`);
    return ms;
  };
  const [startMs, endMs] = [seconds('start', -Infinity), seconds('end', Infinity)];
  const complete = (labels: Labels): Labels => withPartition(labels, partition);
  const texts = await admitted(gate, clock, gone, callerIn(req.headers), async (pacing) => {
    const found = await exemplars.select(compileSets(selectors), startMs, endMs, complete, pacing);
    const all: string[] = [];
    for (const series of found) {
      const text = JSON.stringify(plain(series));
      all.push(text);
      if (pacing.spend(text.length)) await pacing.turn();
    }
    return all;
  });
  answerText(res, 200, 'application/json', `{"status":"success","data":[${texts.join(',')}]}`);
}

/**
 * Runs work when it has a place, and paces it in turns of the caller's. Errors: those of the work; the reason of `gone`;
 * ERR_TIMEOUT after the deadline.
 */
async function admitted<T>(
  gate: Gate,
  clock: Clock,
  gone: AbortSignal,
  caller: string,
  work: (pacing: Pacing) => Promise<T>,
): Promise<T> {
  const late = (): Error => new OperatorError('ERR_TIMEOUT', `not done within ${deadlineMs} ms`);
  const limit = new TimeLimit(clock, deadlineMs, gone, late);
  try {
    const leave = await gate.enter(limit.signal, caller);
    const own = turns.begin(caller, limit.signal);
    try {
      return await work(new Pace(limit.signal, own));
    } finally {
      own.end();
      leave();
    }
  } finally {
    limit.release();
  }
}

/** A series of the answer, in Prometheus' form. */
function plain({ labels, exemplars }: ExemplarSeries): object {
  return {
    seriesLabels: Object.fromEntries(labels),
    exemplars: exemplars.map(({ traceId, spanId, value, timeNs }) => ({
      labels: spanId === '' ? { trace_id: traceId } : { trace_id: traceId, span_id: spanId },
      value: String(value),
      timestamp: Math.round(timeNs / 1e6) / 1000,
    })),
  };
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
