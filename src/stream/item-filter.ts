import { BlockList, isIP } from 'node:net';
import { RE2JS } from 're2js';
import { ownValue } from '../base/collections/own-value.ts';
import { parseDuration } from '../base/duration.ts';
import { OperatorError } from '../base/errors.ts';
import { compileOnce } from '../base/text/compile-pattern.ts';
import { regexShape, shapeTest } from '../base/text/regex-shape.ts';
import { selectorTerms } from '../base/text/selector-terms.ts';
import { itemSubject, type ItemSubject } from './item-subject.ts';
import type { Recorded } from './records.ts';

/** Values by field: the values of one field are OR-ed, fields are AND-ed. */
export type FilterValues = Readonly<Partial<Record<FilterField, readonly string[]>>>;

export const filterFields = [
  'namespace',
  'pod',
  'workload',
  'labelSelector',
  'node',
  'direction',
  'protocol',
  'method',
  'path',
  'status',
  'minDuration',
  'traceId',
  'ip',
  'port',
  'service',
] as const;
export type FilterField = (typeof filterFields)[number];

/** The inputs of a filter in addition to the item. */
export interface FilterContext {
  /** The node whose agent captured the item. */
  readonly node: string;
  /** Returns the labels of a pod of this node; undefined for an unknown pod. */
  readonly podLabels: (namespace: string, name: string) => Readonly<Record<string, string>> | undefined;
  /** The namespaces whose pods' labels the filter may read. Default: all. */
  readonly namespaces?: ReadonlySet<string> | undefined;
}

/** The inputs of a filter that depend on the whole request. */
interface RequestContext extends FilterContext {
  /** The longest path that is matched against patterns. Units: characters. */
  readonly longestPath: number;
}

/**
 * Why a node cannot decide whether an item matches. `labels`: a pod runs on another node, so its labels are unknown
 * here. `pattern`: the path is too long for the patterns of the request.
 */
export type Undecided = 'labels' | 'pattern';

/** Whether an item matches, or why this node cannot decide. */
export type Match = boolean | Undecided;
export type ItemTest = (item: Recorded) => Match;
type Test = (item: Recorded, subject: ItemSubject) => Match;

/** True when at least one test is true, false when all are false, otherwise undecided. */
export function anyOf<T>(tests: readonly T[], test: (one: T) => Match): Match {
  let undecided: Undecided | undefined;
  for (const one of tests) {
    const match = test(one);
    if (match === true) return true;
    if (match !== false) undecided ??= match;
  }
  return undecided ?? false;
}

/** True when all tests are true, false when at least one is false, otherwise undecided. */
function allOf<T>(tests: readonly T[], test: (one: T) => Match): Match {
  let undecided: Undecided | undefined;
  for (const one of tests) {
    const match = test(one);
    if (match === false) return false;
    if (match !== true) undecided ??= match;
  }
  return undecided ?? true;
}

/**
 * Compiles a filter to a test. `pod` is `ns/prefix` or `prefix`; `workload` is `name`, `kind/name` or `ns/kind/name`;
 * `path` is an RE2 pattern for the whole path, whose cost the caller has limited; `status` is `404`, `5+` (500 and
 * above), `500-599`, `ok`, `error` or `unset`; `ip` is an address or a CIDR; `labelSelector` is matched with the pod's
 * labels. A flow has no method, path, status, duration, trace or service: it matches no filter with one of these fields.
 * Errors: ERR_INPUT_INVALID that names the field.
 */
export function itemTest(values: FilterValues, context: RequestContext): ItemTest {
  const tests = filterFields.flatMap((field): Test[] => {
    const given = values[field] ?? [];
    if (given.length === 0) return [];
    const options = given.map((value) => makers[field](value, context));
    return [(item, subject) => anyOf(options, (test) => test(item, subject))];
  });
  return (item) => {
    const subject = itemSubject(item, context.node);
    return allOf(tests, (test) => test(item, subject));
  };
}

const makers: Readonly<Record<FilterField, (value: string, context: RequestContext) => Test>> = {
  namespace: (v) => (_, s) => s.pods.some((p) => p.namespace === v),
  pod: (v) => {
    const slash = v.indexOf('/');
    const namespace = slash < 0 ? undefined : v.slice(0, slash);
    const prefix = v.slice(slash + 1);
    return (_, s) =>
      s.pods.some(
        (p) => (namespace === undefined || p.namespace === namespace) && p.name !== '' && p.name.startsWith(prefix),
      );
  },
  workload: (v) => {
    const [name, kind, namespace] = v.split('/').toReversed();
    return (_, s) =>
      s.workloads.some(
        (w) =>
          w.name === name &&
          (kind === undefined || w.kind.toLowerCase() === kind.toLowerCase()) &&
          (namespace === undefined || w.namespace === namespace),
      );
  },
  labelSelector: (v, { podLabels, namespaces }) => {
    const matches = parseLabelSelector(v, 'labelSelector');
    return (_, s) =>
      anyOf(s.pods, (p) => {
        if (p.name === '' || namespaces?.has(p.namespace) === false) return false;
        const labels = podLabels(p.namespace, p.name);
        return labels ? matches(labels) : 'labels';
      });
  },
  node: (v) => (_, s) => s.nodes.includes(v),
  direction: (v) => (_, s) => s.directions.includes(v.toLowerCase()),
  protocol: (v) => (_, s) => s.protocols.some((p) => p.toLowerCase() === v.toLowerCase()),
  method: (v) => (i) => i.span?.method === v.toUpperCase(),
  path: pathTest,
  status: statusTest,
  minDuration: (v) => {
    const ns = parseDuration(v, 'minDuration') * 1e6;
    return (i) => i.span !== undefined && i.span.durationNs >= ns;
  },
  traceId: (v) => (i) => i.span?.traceId === v.toLowerCase(),
  ip: ipTest,
  port: (v) => {
    const port = /^\d{1,5}$/.test(v) ? Number(v) : NaN;
    if (!(port >= 1 && port <= 65_535)) throw invalidField('port', 'must be a port number');
    return (_, s) => s.ports.includes(port);
  },
  service: (v) => (i) => i.span?.service === v,
};

function pathTest(value: string, { longestPath }: RequestContext): Test {
  const shape = regexShape(value);
  if (shape.kind !== 'other') {
    const matches = shapeTest(shape);
    return ({ span }) => span?.path !== undefined && matches(span.path);
  }
  let pattern: RE2JS;
  try {
    pattern = compileOnce(value, RE2JS.DOTALL);
  } catch {
    throw invalidField('path', 'not an RE2 pattern');
  }
  return ({ span }) => {
    if (span?.path === undefined) return false;
    return span.path.length > longestPath ? 'pattern' : pattern.matches(span.path);
  };
}

function statusTest(value: string): Test {
  if (value === 'ok' || value === 'error' || value === 'unset') return ({ span }) => span?.status === value;
  const range = /^(\d{1,3})(?:(\+)|-(\d{1,3}))?$/.exec(value);
  if (!range) throw invalidField('status', 'must be a code, a range such as 500-599, 5+, ok, error or unset');
  const widen = (text: string, fill: string): number => Number(text.padEnd(3, fill));
  const low = widen(range[1]!, '0');
  const high = range[2] ? Infinity : widen(range[3] ?? range[1]!, '9');
  return ({ span }) => span?.statusCode !== undefined && span.statusCode >= low && span.statusCode <= high;
}

function ipTest(value: string): Test {
  const [address = '', bits] = value.split('/');
  const family = isIP(address);
  const prefix = bits === undefined ? (family === 4 ? 32 : 128) : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN;
  if (family === 0 || !(prefix <= (family === 4 ? 32 : 128)))
    throw invalidField('ip', 'must be an IP address or a CIDR');
  const list = new BlockList();
  list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  return (_, s) => s.addresses.some((a) => isIP(a) !== 0 && list.check(a, isIP(a) === 4 ? 'ipv4' : 'ipv6'));
}

export function invalidField(name: string, reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `${name}: ${reason}`);
}

type Labels = Readonly<Record<string, string>>;

/**
 * A label selector as kubectl writes it: `a=b,c==d,e!=f,g in (x,y),h notin (z),i,!j`, requirements AND-ed.
 * Errors: ERR_INPUT_INVALID that names `field`.
 */
function parseLabelSelector(text: string, field: string): (labels: Labels) => boolean {
  const tests = selectorTerms(text, field).map((part) => requirement(part.trim(), field));
  if (tests.length === 0) throw new OperatorError('ERR_INPUT_INVALID', `${field}: is empty`);
  return (labels) => tests.every((test) => test(labels));
}

const labelKey = '[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?';
const setForm = new RegExp(`^(${labelKey})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const equalityForm = new RegExp(`^(${labelKey})\\s*(==|=|!=)\\s*([-A-Za-z0-9_.]*)$`);
const existsForm = new RegExp(`^(!?)\\s*(${labelKey})$`);

function requirement(part: string, field: string): (labels: Labels) => boolean {
  const set = setForm.exec(part);
  if (set) {
    const values = new Set<string | undefined>(set[4]!.split(',').map((v) => v.trim()));
    const name = set[1]!;
    const wanted = set[3] === 'in';
    return (labels) => values.has(ownValue(labels, name)) === wanted;
  }
  const equality = equalityForm.exec(part);
  if (equality) {
    const [, name = '', , operator, value = ''] = equality;
    const wanted = operator !== '!=';
    return (labels) => (ownValue(labels, name) === value) === wanted;
  }
  const exists = existsForm.exec(part);
  if (!exists)
    throw new OperatorError(
      'ERR_INPUT_INVALID',
      `${field}: ${JSON.stringify(part.slice(0, 80))} is not a label requirement`,
    );
  const name = exists[2]!;
  const wanted = !exists[1];
  return (labels) => Object.hasOwn(labels, name) === wanted;
}
