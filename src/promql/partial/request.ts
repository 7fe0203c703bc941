import { hash as hashOf } from 'node:crypto';
import { OperatorError } from '../../base/errors.ts';
import { queryLimits } from '../limits.ts';
import type { Aggregator } from '../parser/ast.ts';
import type { FragmentRequest, FragmentSettings, Steps } from '../plan/fragment.ts';
import type { Matcher } from '../types.ts';
import { Fields } from './fields.ts';
import { plainSets, readMatcherSets } from './matcher-sets.ts';

/** The path at which an agent computes its share of a query. */
export const partialPath = '/api/v1/partial';

/** Version of the request and of the frames; raised when one side could misread the other. */
export const partialVersion = 1;

/**
 * Version of a request that restricts the visible series. An agent that does not know the restriction does not know
 * this version either, and so refuses the request.
 */
const restrictedVersion = 2;

/** Version of a request for packed rows (one row for many values of a label). It may restrict series, too. */
const packedVersion = 3;

/**
 * Changes whenever the engine's results change: agents and query servers with different values may differ in a last
 * digit or in an annotation, so they do not share a query.
 */
export const engineVersion = '3.15.0-2';

/** A query server's request to an agent. Units: milliseconds, bytes. */
export interface PartialRequest {
  readonly fragment: FragmentRequest;
  readonly steps: Steps;
  readonly settings: FragmentSettings;
  /**
   * A series is visible when it matches all matchers of one of these selectors, which are disjoint. Default: all series
   * are visible.
   */
  readonly visible?: readonly (readonly Matcher[])[] | undefined;
  /** The answer may have at most this many series or groups. */
  readonly maxSeries: number;
  /** The answer may have at most this many bytes. */
  readonly maxBytes: number;
  /** The agent may hold at most this many samples during the evaluation. */
  readonly maxSamples: number;
  /** The query server gives up after this long. */
  readonly deadlineMs: number;
}

const aggregators: ReadonlySet<string> = new Set<Aggregator>([
  ...(['sum', 'avg', 'count', 'min', 'max', 'group'] as const),
  ...(['topk', 'bottomk', 'limitk', 'count_values'] as const),
]);

/** A fragment may have at most this many steps, whether it is a range query's or a subquery's. */
const maxSteps = 1_000_000;

/** The identity of the request: equal for every agent, repeated in each answer. 16 hex digits. */
export function planHash({
  fragment,
  steps,
  settings,
  visible,
}: Pick<PartialRequest, 'fragment' | 'steps' | 'settings' | 'visible'>): string {
  const { kind, expr, op, grouping, without, param, packed } = fragment;
  const text = JSON.stringify([
    [partialVersion, engineVersion, kind, expr, op, grouping, without, typeof param, String(param)],
    [steps.start, steps.step, steps.count, steps.end ?? null],
    [settings.lookbackDeltaMs, settings.delayedNameRemoval, settings.startTimestamps, settings.typeAndUnitLabels],
    ...(visible === undefined ? [] : [plainSets(visible)]),
    ...(packed === undefined ? [] : [{ packed }]),
  ]);
  return hashOf('sha256', text, 'hex').slice(0, 16);
}

/** The JSON body of a request; a caller with many agents computes its `planHash` once and passes it. */
export function encodePartialRequest(request: PartialRequest, hash = planHash(request)): string {
  const { fragment, steps, settings, visible, maxSeries, maxBytes, maxSamples, deadlineMs } = request;
  const { kind, expr, op, grouping, without, param, packed } = fragment;
  return JSON.stringify({
    v: packed !== undefined ? packedVersion : visible !== undefined ? restrictedVersion : partialVersion,
    engineVersion,
    planHash: hash,
    expr,
    mode: kind,
    ...(op === null ? {} : { op }),
    ...(without ? { without: grouping } : { by: grouping }),
    // JSON has neither infinities nor NaN.
    ...(param === null ? {} : { param: typeof param === 'number' ? { number: String(param) } : { label: param } }),
    ...(packed === undefined ? {} : { packed }),
    // An agent of an earlier version ignores this field, and its answer lacks the counts.
    ...(fragment.countSamples === true ? { countSamples: true } : {}),
    start: steps.start,
    step: steps.step,
    count: steps.count,
    ...(steps.end === undefined ? {} : { end: steps.end }),
    lookback: settings.lookbackDeltaMs,
    delayedNameRemoval: settings.delayedNameRemoval,
    startTimestamps: settings.startTimestamps,
    typeAndUnitLabels: settings.typeAndUnitLabels,
    ...(visible === undefined ? {} : { visible: plainSets(visible) }),
    maxSeries,
    maxBytes,
    maxSamples,
    deadline: deadlineMs,
  });
}

/** A request of an unknown version, or with an unknown part: the query server then takes another path. */
export class UnsupportedRequest extends OperatorError {
  constructor(message: string) {
    super('ERR_INPUT_INVALID', message);
    this.name = 'UnsupportedRequest';
  }
}

/** A received request, with its validated identity. */
export interface ReceivedRequest extends PartialRequest {
  readonly planHash: string;
}

/** Reads a request's body. Errors: UnsupportedRequest; ERR_INPUT_INVALID that names the field. */
export function decodePartialRequest(body: string): ReceivedRequest {
  const fields = new Fields(body, 'partial request');
  const version = fields.number('v', 0, 1e9);
  if (![partialVersion, restrictedVersion, packedVersion].includes(version))
    throw new UnsupportedRequest(
      `version ${version} is none of ${partialVersion}, ${restrictedVersion} and ${packedVersion}`,
    );
  if (fields.has('packed') !== (version === packedVersion))
    throw fields.invalid('packed', `belongs to version ${packedVersion}`);
  if (version !== packedVersion && fields.has('visible') !== (version === restrictedVersion))
    throw fields.invalid('visible', `belongs to version ${restrictedVersion}`);
  const engine = fields.text('engineVersion');
  if (engine !== engineVersion) throw new UnsupportedRequest(`engine ${engine} is not ${engineVersion}`);
  const mode = fields.text('mode');
  if (mode !== 'series' && mode !== 'agg' && mode !== 'whole')
    throw new UnsupportedRequest(`mode ${JSON.stringify(mode)}`);
  const op = mode === 'agg' ? fields.text('op') : null;
  if (op !== null && !aggregators.has(op)) throw new UnsupportedRequest(`op ${JSON.stringify(op)}`);
  const without = fields.has('without');
  const grouping = fields.texts(without ? 'without' : 'by', queryLimits.listedLabels);
  const packed = fields.has('packed') ? fields.text('packed') : undefined;
  if (packed !== undefined && (op !== 'sum' || without || !grouping.includes(packed)))
    throw fields.invalid('packed', 'names a label that the sum is by');
  const request: PartialRequest = {
    fragment: {
      kind: mode,
      expr: fields.text('expr'),
      op: op as Aggregator | null,
      grouping,
      without,
      param: fields.param(),
      ...(packed === undefined ? {} : { packed }),
      ...(fields.has('countSamples') ? { countSamples: fields.flag('countSamples') } : {}),
    },
    steps: {
      // A subquery with `@` may lie beyond the times of a Date.
      start: fields.number('start', -Number.MAX_VALUE, Number.MAX_VALUE),
      step: fields.number('step', 0, 8.64e15),
      count: fields.number('count', 1, maxSteps),
      ...(fields.has('end') ? { end: fields.number('end', -Number.MAX_VALUE, Number.MAX_VALUE) } : {}),
    },
    settings: {
      lookbackDeltaMs: fields.number('lookback', 0, 8.64e15),
      delayedNameRemoval: fields.flag('delayedNameRemoval'),
      startTimestamps: fields.flag('startTimestamps'),
      typeAndUnitLabels: fields.flag('typeAndUnitLabels'),
    },
    ...(fields.has('visible') ? { visible: readMatcherSets(fields, 'visible') } : {}),
    maxSeries: fields.number('maxSeries', 1, 1e9),
    maxBytes: fields.number('maxBytes', 1, 1e12),
    maxSamples: fields.number('maxSamples', 1, 1e12),
    deadlineMs: fields.number('deadline', 1, 86_400_000),
  };
  const hash = planHash(request);
  if (fields.text('planHash') !== hash) throw fields.invalid('planHash', 'does not fit the request');
  return { ...request, planHash: hash };
}
