import { maxIndexLimit } from '../../promql/index.ts';
import type { Matcher } from '../../tsdb/index.ts';
import { ApiError } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Call, Handler, HandlerDeps } from '../api/call.ts';
import { limitParam, matcherSets, timeParam } from '../api/params.ts';
import { labelsJsonOfMany } from '../json/label-json.ts';
import { noExtras, sendSuccess } from '../api/respond.ts';
import type { Extras } from '../api/respond.ts';
import { maxTimeMs, minTimeMs } from '../json/times.ts';

export const truncated = 'results truncated due to limit';

/** `/api/v1/series` */
export const series: Handler = async (call, deps) => {
  if (call.params.getAll('match[]').length === 0) throw new ApiError('bad_data', 'no match[] parameter provided');
  const { sets, start, end, limit } = listed(call);
  const answer = await within(start, end, () => deps.runner.series(sets, start, end, runRequest(call), limit));
  await sendList(call, answer, answer.result, labelsJsonOfMany());
};

/** `/api/v1/labels` */
export const labels: Handler = async (call, deps) => {
  await sendTexts(null, call, deps);
};

/** `/api/v1/label/:name/values`. A name may also be given as `U__…`, escaped as Prometheus does for paths. */
export const values: Handler = async (call, deps) => {
  const name = unescapeName(call.label ?? '');
  if (name === '' || !name.isWellFormed())
    throw new ApiError('bad_data', `invalid label name: ${JSON.stringify(name)}`);
  await sendTexts(name, call, deps);
};

async function sendTexts(label: string | null, call: Call, deps: HandlerDeps): Promise<void> {
  const { sets, start, end, limit } = listed(call);
  const request = runRequest(call);
  const answer = await within(start, end, () => deps.runner.labelTexts(label, sets, start, end, request, limit));
  await sendList(call, answer, answer.result, (text) => JSON.stringify(text));
}

/**
 * The parameters of a list. One more element than the limit is requested, which shows whether there are more. A limit
 * that no list reaches is none.
 * Errors: ApiError.
 */
function listed({ params }: Call): { sets: Matcher[][]; start: number; end: number; limit: number } {
  const start = timeParam(params, 'start', minTimeMs);
  const end = timeParam(params, 'end', maxTimeMs);
  const limit = limitParam(params);
  const isLimited = limit > 0 && limit < maxIndexLimit;
  return { sets: matcherSets(params), start, end, limit: isLimited ? limit + 1 : 0 };
}

/**
 * A range whose end lies before its start is empty, and so is the answer: Prometheus refuses such a range only in a
 * query for samples.
 */
async function within<T>(
  start: number,
  end: number,
  ask: () => Promise<Extras & { readonly result: List<T> }>,
): Promise<Extras & { readonly result: List<T> }> {
  return end < start ? { ...noExtras, result: [] } : ask();
}

/** A list that may be too long to be held in memory as text. */
type List<T> = Iterable<T> & { readonly length: number };

/** A list, cut to the limit; each item is made and turned into text only when it is sent. */
async function sendList<T>(
  { req, res, params }: Call,
  extras: Extras,
  items: List<T>,
  text: (item: T) => string,
): Promise<void> {
  const limit = limitParam(params);
  const cut = limit > 0 && items.length > limit;
  const warnings = cut ? [...extras.warnings, truncated] : extras.warnings;
  await sendSuccess(req, res, listPieces(items, cut ? limit : items.length, text), { ...extras, warnings });
}

function* listPieces<T>(items: Iterable<T>, count: number, text: (item: T) => string): Generator<string> {
  let separator = '[';
  let left = count;
  for (const item of items) {
    if (left-- === 0) break;
    yield separator + text(item);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** `U__foo_2e_bar` → `foo.bar`; an incomplete escape stays as it is. */
function unescapeName(name: string): string {
  if (!name.startsWith('U__')) return name;
  const body = name.slice(3);
  if (!/^(?:[^_]|__|_[0-9a-fA-F]{1,6}_)*$/.test(body)) return name;
  return body.replace(/__|_([0-9a-fA-F]+)_/g, (_, hex: string | undefined) => {
    const code = hex === undefined ? 0x5f : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}
