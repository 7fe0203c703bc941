import { errorText } from '../../base/errors.ts';
import { refuseTooManySteps } from '../eval/run/estimate.ts';
import { subqueryFrame, type Frame } from '../eval/frame.ts';
import { milliseconds, resolve, timingOf } from '../eval/resolve.ts';
import { childrenOf, typeOf, type Expr } from '../parser/ast.ts';
import { parse } from '../parser/parser.ts';

/** Why an expression cannot be a metric for autoscalers. */
export interface MetricFault {
  readonly reason: 'invalid' | 'costly';
  readonly message: string;
}

/**
 * Most samples of each series that one evaluation may read: enough for a range of eleven days, or for a subquery over
 * nine days of a one-minute rate with one-minute steps.
 */
export const metricSamplesPerSeries = 100_000;
/** Most samples that one evaluation may have in memory. */
export const metricSamples = 16_000_000;

/** The instrument's default export interval. Units: ms. */
const sampleIntervalMs = 10_000;
const subqueryStepMs = 60_000;
const once: Frame = { start: 0, step: 1, count: 1 };

/**
 * Checks an expression that autoscalers evaluate every 15 seconds, by its text alone: whether it parses, whether it
 * gives a number for each object, and how much it costs. The number of series is unknown, so the cost is that of one
 * series with a sample every 10 s. Pure. Returns undefined for a valid expression.
 */
export function judgeMetric(text: string): MetricFault | undefined {
  let expr: Expr;
  try {
    expr = parse(text);
    const type = typeOf(expr);
    if (type !== 'scalar' && type !== 'instant vector') {
      return { reason: 'invalid', message: `is of type ${type}, not a scalar or an instant vector` };
    }
    expr = resolve(expr, { start: 0, end: 0, step: 0 }, text, () => subqueryStepMs);
  } catch (error) {
    return { reason: 'invalid', message: errorText(error) };
  }
  try {
    refuseTooManySteps(expr, once, metricSamples);
  } catch (error) {
    return { reason: 'costly', message: errorText(error) };
  }
  const samples = Math.ceil(samplesOf(expr, once));
  if (samples <= metricSamplesPerSeries) return undefined;
  const message = `one evaluation looks at about ${samples} samples of each series, at most ${metricSamplesPerSeries} are allowed`;
  return { reason: 'costly', message };
}

/** Samples of one series that an expression reads over a frame. */
function samplesOf(expr: Expr, frame: Frame): number {
  switch (expr.kind) {
    case 'vector':
      return frame.count;
    case 'matrix':
      return frame.count * Math.max(1, milliseconds(expr.range) / sampleIntervalMs);
    case 'subquery': {
      const step = milliseconds(expr.step!);
      const inner = subqueryFrame(frame, timingOf(expr), milliseconds(expr.range), step);
      return frame.count * Math.max(1, milliseconds(expr.range) / step) + samplesOf(expr.expr, inner);
    }
    default:
      return childrenOf(expr).reduce((sum, child) => sum + samplesOf(child, frame), 0);
  }
}
