import { Fields } from '../partial/fields.ts';
import { plainSets, readMatcherSets } from '../partial/matcher-sets.ts';
import { UnsupportedRequest } from '../partial/request.ts';
import type { Matcher } from '../types.ts';

/** The path at which an agent lists label names, values of a label, or label sets of series. */
export const indexPath = '/api/v1/index';

/** Version of the request and of the frames; raised when one side could misread the other. */
export const indexVersion = 1;

/** What is listed: label names, values of a label, or label sets of series. */
export type IndexKind = 'names' | 'values' | 'series';

/** A query server's request to an agent for such a list. Units: milliseconds, bytes. */
export interface IndexRequest {
  readonly kind: IndexKind;
  /** The label whose values are requested; null for other kinds. */
  readonly label: string | null;
  /**
   * A series must match all matchers of at least one set. There is at least one set; an empty set matches every series.
   */
  readonly sets: readonly (readonly Matcher[])[];
  /** Only series with a sample in [start, end] count. */
  readonly startMs: number;
  readonly endMs: number;
  /** How many elements are listed at most, beginning with the first in order; 0 for all. */
  readonly limit: number;
  readonly maxBytes: number;
  /** The query server gives up after this long. */
  readonly deadlineMs: number;
}

/** The largest limit of a request. No list is that long. */
export const maxIndexLimit = 1e9;

const kinds: readonly string[] = ['names', 'values', 'series'] satisfies IndexKind[];
/** The largest time in Prometheus' API. */
const maxMs = 1e17;

/** The request as the JSON of its body. */
export function encodeIndexRequest(request: IndexRequest): string {
  const { kind, label, sets, startMs, endMs, limit, maxBytes, deadlineMs } = request;
  return JSON.stringify({
    v: indexVersion,
    kind,
    ...(label === null ? {} : { label }),
    sets: plainSets(sets),
    start: startMs,
    end: endMs,
    limit,
    maxBytes,
    deadline: deadlineMs,
  });
}

/** Reads a request's body. Errors: UnsupportedRequest; ERR_INPUT_INVALID that names the field. */
export function decodeIndexRequest(body: string): IndexRequest {
  const fields = new Fields(body, 'index request');
  const version = fields.number('v', 0, 1e9);
  if (version !== indexVersion) throw new UnsupportedRequest(`version ${version} is not ${indexVersion}`);
  const kind = fields.text('kind');
  if (!kinds.includes(kind)) throw new UnsupportedRequest(`kind ${JSON.stringify(kind)}`);
  const label = kind === 'values' ? fields.text('label') : null;
  if (label === '') throw fields.invalid('label', 'is empty');
  const startMs = fields.number('start', -maxMs, maxMs);
  return {
    kind: kind as IndexKind,
    label,
    sets: readMatcherSets(fields, 'sets'),
    startMs,
    endMs: fields.number('end', startMs, maxMs),
    limit: fields.number('limit', 0, maxIndexLimit),
    maxBytes: fields.number('maxBytes', 1, 1e12),
    deadlineMs: fields.number('deadline', 1, 86_400_000),
  };
}
