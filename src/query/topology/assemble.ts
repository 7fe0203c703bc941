import { appendTo } from '../../base/collections/counts.ts';
import { compareText } from '../../base/text/texts.ts';
import { namespaceLabel } from '../../api/labels.ts';
import { partLabel, requestFamilies, type RequestFamily } from '../../api/page/request-families.ts';
import type { EdgePromql, EdgeSource, Topology, TopologyEdge, TopologyGrouping } from '../../api/page/types.ts';
import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import type { Pacing } from '../../base/turns/turns.ts';
import type { AddressIndex } from '../addresses/address-index.ts';
import { databases } from '../../stream/index.ts';
import { Ends, type End } from './ends.ts';
import { FlowTally, type FlowPair } from './flow-tally.ts';
import { type Bytes, Requests, statsOf } from './measures.ts';
import { edgeQueries, flowPart, flowQuery, subjectLabels } from './queries.ts';

/** One row for all elements of the answer to `topologyQuery` that differ only in the label `le`. */
export interface RateRow {
  /** Without `le`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Values of `le`; '' for a series without one. */
  readonly bounds: readonly string[];
  /** One for each bound. Units: per second. */
  readonly values: Float64Array;
}

export interface AssembleOptions {
  readonly index: AddressIndex;
  readonly by: TopologyGrouping;
  readonly endMs: number;
  readonly windowMs: number;
  /** The namespaces that the caller may see; undefined: all. */
  readonly visible: ReadonlySet<string> | undefined;
  /** Only edges with an end in this namespace. */
  readonly namespace: string | undefined;
  /** Most edges of the answer; of more edges, the busiest are shown. */
  readonly maxEdges: number;
}

export interface Assembled {
  readonly topology: Topology;
  /** Number of edges that were left out because there are too many. */
  readonly leftOut: number;
}

/** The data of one pair of ends in one protocol. */
interface Draft {
  readonly source: End;
  readonly target: End;
  readonly protocol: string;
  requests?: Requests;
  bytes?: Bytes;
  promql: EdgePromql;
  /** The metric family and the caller that the request numbers come from; null when there are several. */
  of?: { readonly family: RequestFamily; readonly subject: Record<string, string>; readonly system: string } | null;
  readonly hosts: Set<string>;
}

/**
 * Servers and their callers count slightly different numbers in the same window. A difference below this share of the
 * total is not attributed to another caller.
 */
const noise = 0.05;
/**
 * Pacing counts work in samples. These are the numbers of samples that cost as much as one row, its values not
 * included; as one end or edge of the answer; and as one comparison.
 */
const rowWork = 500;
const shownWork = 1_000;
const compareWork = 30;

/**
 * Builds a topology from rates: requests as measured by their callers, flows on top of them, and the servers' own
 * numbers where no caller is captured.
 * Guarantees: the request rates of the edges of captured callers add up to those of the rows; equal input gives equal
 * output, in order of ids. Pure, except that it yields to other work.
 */
export async function assembleTopology(
  pacing: Pacing,
  rows: readonly RateRow[],
  options: AssembleOptions,
): Promise<Assembled> {
  const ends = new Ends({ ...options, atMs: options.endMs });
  const drafts = new Map<string, Draft>();
  const served = new Map<string, Map<string, ServedRequests>>();
  const flows = new FlowTally(options.by);
  const draftOf = (source: End, target: End, protocol: string): Draft => {
    const id = `${source.id}>${target.id}>${protocol}`;
    let draft = drafts.get(id);
    if (!draft) drafts.set(id, (draft = { source, target, protocol, promql: {}, hosts: new Set() }));
    return draft;
  };
  for (const { labels, bounds, values } of rows) {
    if (pacing.spend(rowWork + values.length)) await pacing.turn();
    if (!values.some((value) => value > 0)) continue;
    const mark = labels[partLabel] ?? '';
    if (mark === flowPart) {
      flows.add(labels, values[0]!, ends);
      continue;
    }
    const family = familyOf.get(mark.replace(/!$/, ''));
    if (!family) continue;
    const les = mark.endsWith('!') ? noBounds : bounds;
    const subject = Object.fromEntries(subjectLabels[options.by].map((name) => [name, labels[name] ?? '']));
    const end = ends.subject(labels);
    if (family.side === 'server') {
      const byFamily = served.get(end.id) ?? new Map();
      served.set(end.id, byFamily);
      const known = byFamily.get(family.part) ?? { end, family, subject, requests: new Requests() };
      byFamily.set(family.part, known);
      if (known.subject && differs(known.subject, subject)) known.subject = null;
      addRates(known.requests, les, values);
      continue;
    }
    const host = labels['server_address'] ?? '';
    const system = typeof family.protocol === 'string' ? '' : (labels[family.protocol.label] ?? '');
    const draft = draftOf(end, ends.host(host, labels[namespaceLabel] ?? ''), protocolOf(family, system));
    addRates((draft.requests ??= new Requests()), les, values);
    draft.hosts.add(host);
    if (draft.of === undefined) draft.of = { family, subject, system };
    else if (
      draft.of &&
      (draft.of.family !== family || draft.of.system !== system || differs(draft.of.subject, subject))
    )
      draft.of = null;
  }
  await addUncaptured(pacing, drafts, served, draftOf, ends);
  await layFlows(pacing, await flows.pairs(pacing), drafts, draftOf, options);
  for (const draft of drafts.values()) {
    if (pacing.spend(rowWork)) await pacing.turn();
    if (!draft.of) continue;
    const { family, subject, system } = draft.of;
    draft.promql = {
      ...draft.promql,
      ...edgeQueries({ family, subject, hosts: [...draft.hosts], system }, options.windowMs),
    };
  }
  return finish(pacing, [...drafts.values()], served, ends, options);
}

const noBounds: readonly string[] = [''];

function addRates(requests: Requests, bounds: readonly string[], values: Float64Array): void {
  for (let i = 0; i < bounds.length; i++) if (values[i]! > 0) requests.add(bounds[i]!, values[i]!);
}

const familyOf = new Map(requestFamilies.map((family) => [family.part, family]));

function protocolOf({ protocol }: RequestFamily, system: string): string {
  if (typeof protocol === 'string') return protocol;
  if (protocol.label === 'messaging_system') return system.toLowerCase() || 'messaging';
  return (databases[system] ?? 'SQL').toLowerCase();
}

function differs(a: Record<string, string>, b: Record<string, string>): boolean {
  return Object.keys(a).some((name) => a[name] !== b[name]);
}

/** What the servers of an end counted in one metric family. `subject` is null when they have several label sets. */
interface ServedRequests {
  readonly end: End;
  readonly family: RequestFamily;
  subject: Record<string, string> | null;
  readonly requests: Requests;
}
type Served = ReadonlyMap<string, ReadonlyMap<string, ServedRequests>>;
type DraftOf = (source: End, target: End, protocol: string) => Draft;

/** Requests that servers answered but no captured caller sent get an unknown end as their source. */
async function addUncaptured(
  pacing: Pacing,
  drafts: ReadonlyMap<string, Draft>,
  served: Served,
  draftOf: DraftOf,
  ends: Ends,
): Promise<void> {
  const asked = new Map<string, number>();
  for (const { target, protocol, requests } of drafts.values()) {
    const key = `${target.id}>${protocol}`;
    asked.set(key, (asked.get(key) ?? 0) + (requests?.rate ?? 0));
    if (pacing.spend(compareWork)) await pacing.turn();
  }
  for (const byFamily of served.values()) {
    if (pacing.spend(rowWork)) await pacing.turn();
    for (const { end, family, subject, requests } of byFamily.values()) {
      const protocol = protocolOf(family, '');
      const rest = requests.rate - (asked.get(`${end.id}>${protocol}`) ?? 0);
      if (rest <= noise * requests.rate) continue;
      const draft = draftOf(ends.unknown, end, protocol);
      if (rest < (1 - noise) * requests.rate) {
        // The durations and failures of these requests cannot be separated from those of the captured callers.
        (draft.requests ??= new Requests()).addUnmeasured(rest);
        continue;
      }
      (draft.requests ??= new Requests()).merge(requests);
      // While the instruments are upgraded the same calls have two names, and no single query counts all of them.
      draft.of = draft.of === undefined && subject ? { family, subject, system: '' } : null;
    }
  }
}

/**
 * Adds the bytes of flows to edges. If exactly one edge of requests leads from the client to the server, it gets the
 * bytes; otherwise, and over UDP, the flows get an edge of their own.
 */
async function layFlows(
  pacing: Pacing,
  pairs: readonly FlowPair[],
  drafts: ReadonlyMap<string, Draft>,
  draftOf: DraftOf,
  { windowMs }: AssembleOptions,
): Promise<void> {
  const between = new Map<string, Draft[]>();
  for (const draft of drafts.values()) {
    appendTo(between, `${draft.source.id}>${draft.target.id}`, draft);
    if (pacing.spend(compareWork)) await pacing.turn();
  }
  for (const { client, server, transport, forth, back, subject, local } of pairs) {
    if (pacing.spend(rowWork)) await pacing.turn();
    const known = (between.get(`${client.id}>${server.id}`) ?? []).filter(() => transport !== 'udp');
    const draft = known.length === 1 ? known[0]! : draftOf(client, server, transport);
    // An edge of requests gets the flows of several transports, and no single query counts all of them.
    draft.promql = subject && !draft.bytes ? { bytes: flowQuery(subject, local, windowMs) } : {};
    draft.bytes ??= { forth: 0, back: 0 };
    draft.bytes.forth += forth;
    draft.bytes.back += back;
  }
}

async function finish(
  pacing: Pacing,
  all: readonly Draft[],
  served: Served,
  ends: Ends,
  options: AssembleOptions,
): Promise<Assembled> {
  const { by, endMs, windowMs, namespace, maxEdges } = options;
  const concerned = all.filter(
    ({ source, target }) => namespace === undefined || source.namespace === namespace || target.namespace === namespace,
  );
  const byWeight = (a: Draft, b: Draft): number => weight(b) - weight(a) || compareText(idOf(a), idOf(b));
  const busiest = (await sortInTurns(pacing, concerned, byWeight, compareWork)).slice(0, maxEdges);
  const edges: TopologyEdge[] = [];
  const shown = new Map<string, End>();
  const [inbound, outbound] = [new Map<string, Draft[]>(), new Map<string, Draft[]>()];
  for (const draft of busiest) {
    const { source, target, protocol, requests, bytes, promql } = draft;
    edges.push({
      ...{ id: idOf(draft), source: source.id, target: target.id, protocol },
      ...{ sources: sourcesOf(draft), stats: statsOf(requests, bytes), promql },
    });
    for (const end of [source, target]) shown.set(end.id, end);
    appendTo(inbound, target.id, draft);
    appendTo(outbound, source.id, draft);
    if (pacing.spend(shownWork)) await pacing.turn();
  }
  const nodes: Topology['nodes'][number][] = [];
  for (const end of shown.values()) {
    const answered = [...(served.get(end.id)?.values() ?? [])].map(({ requests }) => requests);
    const [asked, sent] = [inbound.get(end.id) ?? [], outbound.get(end.id) ?? []];
    const node = end.kind === 'workload' ? ends.nodeOf({ ...end, kind: end.workloadKind }) : undefined;
    nodes.push({
      ...end,
      ...(node === undefined ? {} : { node }),
      inbound: statsOf(sumOf(answered.length > 0 ? answered : requestsOf(asked)), bytesOf(asked)),
      outbound: statsOf(sumOf(requestsOf(sent)), bytesOf(sent)),
    });
    if (pacing.spend(shownWork + rowWork * (asked.length + sent.length))) await pacing.turn();
  }
  const byId = (a: { readonly id: string }, b: { readonly id: string }): number => compareText(a.id, b.id);
  const topology = {
    ...{ window: { startMs: endMs - windowMs, endMs }, by },
    nodes: await sortInTurns(pacing, nodes, byId, compareWork),
    edges: await sortInTurns(pacing, edges, byId, compareWork),
  };
  return { topology, leftOut: concerned.length - busiest.length };
}

function sourcesOf({ requests, bytes }: Draft): EdgeSource[] {
  return [...(requests ? (['requests'] as const) : []), ...(bytes ? (['flows'] as const) : [])];
}

function requestsOf(drafts: readonly Draft[]): Requests[] {
  return drafts.flatMap(({ requests }) => requests ?? []);
}

function sumOf(parts: readonly Requests[]): Requests | undefined {
  if (parts.length === 0) return undefined;
  const sum = new Requests();
  for (const part of parts) sum.merge(part);
  return sum;
}

function bytesOf(drafts: readonly Draft[]): Bytes | undefined {
  const known = drafts.flatMap(({ bytes }) => bytes ?? []);
  if (known.length === 0) return undefined;
  return known.reduce((sum, one) => ({ forth: sum.forth + one.forth, back: sum.back + one.back }), {
    forth: 0,
    back: 0,
  });
}

/** One request weighs as much as ten thousand bytes: users look for requests first. */
function weight({ requests, bytes }: Draft): number {
  return (requests?.rate ?? 0) * 10_000 + (bytes ? bytes.forth + bytes.back : 0);
}

function idOf({ source, target, protocol }: Draft): string {
  return `${source.id}>${target.id}>${protocol}`;
}
