import { parseRfc3339 } from '../../base/text/rfc3339.ts';
import { isObject } from '../../base/text/texts.ts';
import type { KubeObject } from '../meta.ts';
import type { DepartedNode, EarlierNodes, NodeRecord, ServingNode } from './node-record.ts';

/** The ConfigMap in the operator's namespace with the record of serving and departed nodes. It has one writer. */
export const nodeRecordName = 'svc-departed-nodes';

/** Maximum size of the record. A ConfigMap has 1 MiB, of which the rest is for metadata. Units: bytes. */
const maxBytes = 960 * 1024;
/** Longest retention that is accepted: ten years. Units: ms. */
const longestKeepMs = 3650 * 86_400_000;
/** Largest difference between clocks that is accepted. Units: ms. */
const skewMs = 300_000;

/** Maximum number of invalid entries that are reported; further ones are left out without a message. */
const maxRefused = 100;

/** The members of the ConfigMap's `data`: each is JSON. */
export type RecordData = Readonly<Record<'serving.json' | 'departed.json' | 'earlier.json', string>>;

/**
 * The record as it is stored, one element per line: serving nodes by name, departed nodes by the time at which they
 * left. Departed nodes that do not fit are not forgotten: those that left first are joined into one entry.
 * Shape: equal records give equal texts. `leftOut` counts serving nodes for which there is no room at all.
 */
export function recordData(record: NodeRecord, limit = maxBytes): { data: RecordData; leftOut: number } {
  let room = limit - 512;
  const fits = (line: string): boolean => (room -= Buffer.byteLength(line) + 2) >= 0;
  const serving: string[] = [];
  for (const one of [...record.serving].sort(byName)) {
    const line = JSON.stringify(servingJson(one));
    if (fits(line)) serving.push(line);
  }
  const departed: string[] = [];
  let { earlier } = record;
  for (const one of [...record.departed].sort((a, b) => b.leftMs - a.leftMs || byName(b, a))) {
    const line = JSON.stringify(departedJson(one));
    if (fits(line)) departed.push(line);
    else earlier = joined(earlier, one);
  }
  return {
    data: {
      'serving.json': listText(serving),
      'departed.json': listText(departed.reverse()),
      'earlier.json': JSON.stringify(earlier === null ? null : { nodes: earlier.count, ...spanJson(earlier) }),
    },
    leftOut: record.serving.length - serving.length,
  };
}

/** The readable part of the data, and the refused entries. */
export interface ReadRecord {
  /** A member whose text is not JSON, or not a list where it must be, is absent. */
  readonly record: Partial<NodeRecord>;
  /** A message for each refused entry, with its place and the reason; a hundred at most. */
  readonly refused: readonly string[];
}

/**
 * The later of two times that have passed: `nowMs` of this machine's clock, which may lag, and the API server's when it
 * stored the record.
 */
export function passedAt({ metadata }: KubeObject, nowMs: number): number {
  return Math.max(nowMs, ...(metadata.managedFields ?? []).map(({ time }) => parseRfc3339(time ?? '') ?? nowMs));
}

/**
 * Reads the record. Only the invalid entries are refused, and all others are used. `nowMs`: see `passedAt`. Never
 * throws. Pure.
 */
export function readRecordData(data: unknown, nowMs: number): ReadRecord {
  const refused: string[] = [];
  const members = isObject(data) ? data : {};
  const parsed = (key: keyof RecordData): unknown => {
    const text = members[key];
    if (text === undefined) return undefined;
    try {
      return JSON.parse(String(text));
    } catch {
      refused.push(`${key}: no JSON`);
      return undefined;
    }
  };
  const listOf = <T>(key: keyof RecordData, read: (fields: Fields) => T): readonly T[] | undefined => {
    const list = parsed(key);
    if (list === undefined) return undefined;
    if (!Array.isArray(list)) {
      refused.push(`${key}: no list`);
      return undefined;
    }
    return list.flatMap((one: unknown, i) => {
      const found = tried(one, nowMs, read);
      if (typeof found !== 'string') return [found.value];
      if (refused.length < maxRefused) refused.push(`${key}[${i}]${found}`);
      return [];
    });
  };
  const names = new Set<string>();
  const serving = listOf('serving.json', (fields) => readServing(fields, names));
  const departed = listOf('departed.json', readDeparted);
  const rest = parsed('earlier.json');
  let earlier: EarlierNodes | null | undefined = rest === null ? null : undefined;
  if (rest !== undefined && rest !== null) {
    const found = tried(rest, nowMs, readEarlier);
    if (typeof found === 'string') refused.push(`earlier.json${found}`);
    else earlier = found.value;
  }
  const known = { serving, departed, earlier };
  return { record: Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)), refused };
}

/** Refuses a name that is in `names`, and adds it otherwise: only one machine at a time serves under a name. */
function readServing(fields: Fields, names: Set<string>): ServingNode {
  const one = {
    ...fields.machine(),
    fromMs: fields.time('from'),
    keepMs: fields.count('keepSeconds', longestKeepMs / 1000) * 1000,
  };
  if (names.has(one.node)) throw new FieldError('node', 'there twice');
  names.add(one.node);
  return one;
}

const readDeparted = (fields: Fields): DepartedNode => ({ ...fields.machine(), ...fields.span() });

const readEarlier = (fields: Fields): EarlierNodes => ({ count: fields.count('nodes', 1e9), ...fields.span() });

/** Reads the fields of one element. Errors: FieldError. */
class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #nowMs: number;

  constructor(fields: Readonly<Record<string, unknown>>, nowMs: number) {
    this.#fields = fields;
    this.#nowMs = nowMs;
  }

  machine() {
    const machine = this.#fields['machine'];
    return {
      node: this.#text('node', /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'the name of a node'),
      uid: this.#text('uid', /^[-\w.:]{1,128}$/, 'a uid'),
      machine: machine === undefined ? undefined : this.#text('machine', /^[0-9a-f]{16}$/, '16 hex digits'),
    };
  }

  /**
   * A departure in the future was written by a clock that was ahead: it counts as the latest one that is accepted, with
   * the same retention. To refuse it would make the node forgotten.
   */
  span() {
    const [fromMs, leftMs, untilMs] = [this.time('from'), this.time('left'), this.time('until')];
    if (leftMs < fromMs) throw new FieldError('left', 'before from');
    if (untilMs < leftMs) throw new FieldError('until', 'before left');
    if (untilMs - leftMs > longestKeepMs) throw new FieldError('until', 'more than ten years after left');
    const latestMs = this.#nowMs + skewMs;
    const aheadMs = Math.max(0, leftMs - latestMs);
    return { fromMs: Math.min(fromMs, latestMs), leftMs: leftMs - aheadMs, untilMs: untilMs - aheadMs };
  }

  time(name: string): number {
    const text = this.#text(name, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/, 'a time as RFC 3339, UTC');
    const ms = Date.parse(text);
    if (Number.isNaN(ms)) throw new FieldError(name, 'no such time');
    return ms;
  }

  count(name: string, most: number): number {
    const value = this.#fields[name];
    if (typeof value === 'number' && value >= 0 && value <= most && Number.isFinite(value)) return value;
    throw new FieldError(name, `not a number from 0 to ${most}`);
  }

  #text(name: string, pattern: RegExp, what: string): string {
    const value = this.#fields[name];
    if (typeof value === 'string' && pattern.test(value)) return value;
    throw new FieldError(name, `not ${what}`);
  }
}

class FieldError extends Error {
  constructor(field: string, why: string) {
    super(`.${field}: ${why}`);
  }
}

/** The value that is read from one element, or a message that says where the element is wrong. */
function tried<T>(one: unknown, nowMs: number, read: (fields: Fields) => T): { readonly value: T } | string {
  if (!isObject(one)) return ': no object';
  try {
    return { value: read(new Fields(one, nowMs)) };
  } catch (error) {
    if (error instanceof FieldError) return error.message;
    throw error;
  }
}

function joined(earlier: EarlierNodes | null, one: DepartedNode): EarlierNodes {
  if (earlier === null) return { count: 1, fromMs: one.fromMs, leftMs: one.leftMs, untilMs: one.untilMs };
  return {
    count: earlier.count + 1,
    fromMs: Math.min(earlier.fromMs, one.fromMs),
    leftMs: Math.max(earlier.leftMs, one.leftMs),
    untilMs: Math.max(earlier.untilMs, one.untilMs),
  };
}

const timeText = (ms: number): string => new Date(ms).toISOString();
const servingJson = ({ node, uid, machine, fromMs, keepMs }: ServingNode) => ({
  ...{ node, uid, machine, from: timeText(fromMs) },
  keepSeconds: keepMs / 1000,
});
const spanJson = ({ fromMs, leftMs, untilMs }: Pick<DepartedNode, 'fromMs' | 'leftMs' | 'untilMs'>) => ({
  from: timeText(fromMs),
  left: timeText(leftMs),
  until: timeText(untilMs),
});
const departedJson = (one: DepartedNode) => ({
  ...{ node: one.node, uid: one.uid, machine: one.machine },
  ...spanJson(one),
});
const listText = (lines: readonly string[]): string => (lines.length === 0 ? '[]' : `[\n${lines.join(',\n')}\n]`);

function byName(a: { readonly node: string; readonly uid: string }, b: typeof a): number {
  const [x, y] = [`${a.node} ${a.uid}`, `${b.node} ${b.uid}`];
  return x < y ? -1 : x > y ? 1 : 0;
}
