import { compareUtf8, labelValue } from '../../tsdb/index.ts';
import { ApiError, invalidParameter } from './api-error.ts';
import { runRequest } from './call.ts';
import type { Call, Handler, HandlerDeps } from './call.ts';
import { limitParam, matcherSets, timeParam } from './params.ts';
import type { QueryRunner } from './query-runner.ts';
import { labelsJson } from './label-json.ts';
import { sendSuccess } from './respond.ts';
import type { Extras } from './respond.ts';
import { maxTimeMs, minTimeMs } from './times.ts';

export const truncated = 'results truncated due to limit';

/** `/api/v1/series` */
export const series: Handler = async (call, deps) => {
  if (call.params.getAll('match[]').length === 0) throw new ApiError('bad_data', 'no match[] parameter provided');
  const answer = await readSeries(call, deps);
  await sendList(call, answer, answer.result, labelsJson);
};

/** `/api/v1/labels` */
export const labels: Handler = async (call, deps) => {
  const answer = await readSeries(call, deps);
  const names = new Set<string>();
  for (const one of answer.result) for (const [name] of one) names.add(name);
  await sendList(call, answer, [...names].sort(compareUtf8), (name) => JSON.stringify(name));
};

/** `/api/v1/label/:name/values`. A name may also be given as `U__…`, escaped as Prometheus does for paths. */
export const values: Handler = async (call, deps) => {
  const name = unescapeName(call.label ?? '');
  if (name === '' || !name.isWellFormed())
    throw new ApiError('bad_data', `invalid label name: ${JSON.stringify(name)}`);
  const answer = await readSeries(call, deps);
  const found = new Set(answer.result.map((l) => labelValue(l, name)));
  found.delete('');
  await sendList(call, answer, [...found].sort(compareUtf8), (value) => JSON.stringify(value));
};

function readSeries(call: Call, deps: HandlerDeps): ReturnType<QueryRunner['series']> {
  const start = timeParam(call.params, 'start', minTimeMs);
  const end = timeParam(call.params, 'end', maxTimeMs);
  if (end < start) throw invalidParameter('end', 'end timestamp must not be before start time');
  limitParam(call.params);
  return deps.runner.series(matcherSets(call.params), start, end, runRequest(call));
}

/** A list, cut to the limit; each item is turned into text only when it is sent. */
async function sendList<T>(
  { req, res, params }: Call,
  extras: Extras,
  items: readonly T[],
  text: (item: T) => string,
): Promise<void> {
  const limit = limitParam(params);
  const cut = limit > 0 && items.length > limit;
  const warnings = cut ? [...extras.warnings, truncated] : extras.warnings;
  await sendSuccess(req, res, listPieces(cut ? items.slice(0, limit) : items, text), { ...extras, warnings });
}

function* listPieces<T>(items: readonly T[], text: (item: T) => string): Generator<string> {
  let separator = '[';
  for (const item of items) {
    yield separator + text(item);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** `U__foo_2e_bar` → `foo.bar`; anything that is no whole escape stays as it is. */
function unescapeName(name: string): string {
  if (!name.startsWith('U__')) return name;
  const body = name.slice(3);
  if (!/^(?:[^_]|__|_[0-9a-fA-F]{1,6}_)*$/.test(body)) return name;
  return body.replace(/__|_([0-9a-fA-F]+)_/g, (_, hex: string | undefined) => {
    const code = hex === undefined ? 0x5f : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}
