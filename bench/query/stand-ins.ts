/**
 * Stand-in agents for `bench/topology.ts` and `bench/page.ts`, in one process of their own: N addresses 127.0.0.x:port
 * behind mutual TLS. Each speaks the agents' real protocols and has a node name of its own; all read one real store.
 *
 * Real agents compute their shares of a query in parallel, each on a machine of its own. Here the first agent that gets
 * a request computes; the others wait for its result and encode it under their own names. So a query takes the time of
 * one evaluation, and has the bytes, connections, checksums and encodings of all agents. Raw chunks are read, cut and
 * framed for one agent after the other, which on a real cluster happens in parallel: queries without pushdown look
 * slower here.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { createTlsServer } from '../../src/net/https-server.ts';
import { listen } from '../../src/net/listen.ts';
import { fixedTls } from '../../src/net/tls-material.ts';
import type { TlsMaterial } from '../../src/net/tls-material.ts';
import {
  decodeIndexRequest,
  decodePartialRequest,
  encodeIndexAnswer,
  encodePartial,
  engineVersion,
  evaluateFragment,
  indexContentType,
  indexPath,
  partialContentType,
  partialPath,
  planHash,
} from '../../src/promql/index.ts';
import type { FragmentResult, IndexLists, Labels } from '../../src/promql/index.ts';
import { StoreSource } from '../../src/agent/partial/store-source.ts';
import { MemoryFiles } from '../../src/testing/tsdb/memory-files.ts';
import { compareLabels, createRemoteReadHandler, labelsFromObject, openStore } from '../../src/tsdb/index.ts';
import type { Store } from '../../src/tsdb/index.ts';
import { fillTopology, relabelTopology } from './topology-data.ts';

const nodeLabel = 'k8s_node_name';
const template = 'node-0';

export interface AgentsOptions {
  readonly agents: number;
  readonly tls: TlsMaterial;
  /** Computes each share once and serves it from then on: for benches of the query server alone. */
  readonly keep?: boolean;
}

/** What the agents have cost so far. This process sends it as the answer to each message of the bench. */
export interface AgentsCost {
  readonly cpuMs: number;
  readonly bytes: number;
}

/** One evaluation, whose result several agents send as their own. */
interface Shared {
  readonly result: Promise<FragmentResult>;
  readonly minT: number | null;
  readonly maxT: number | null;
  left: number;
}

/** How requests to one path are answered: the content type, and a function that makes the answer's frames. */
interface Answer {
  readonly type: string;
  readonly make: (body: string) => Promise<Uint8Array>;
}

/** Turns the labels of the one store into those of a node. */
type Relabel = (labels: Labels) => Labels;

let bytes = 0;

async function main(options: AgentsOptions): Promise<void> {
  const store = await openStore({
    dir: '/bench',
    files: new MemoryFiles(),
    clock: systemClock,
    logger: silentLogger,
    externalLabels: labelsFromObject({ [nodeLabel]: template }),
  });
  await fillTopology(store);
  const shared = new Map<string, Shared>();
  const lists = new Map<string, Promise<IndexLists>>();
  let port = 0;
  for (let i = 0; i < options.agents; i++) {
    const node = `node-${i}`;
    const relabel: Relabel = (labels) => rename(relabelTopology(labels, i), node);
    const read = createRemoteReadHandler(renamed(store, relabel), { concurrency: 100 });
    const answers: Readonly<Record<string, Answer>> = {
      [partialPath]: {
        type: partialContentType,
        make: (body) => share(body, store, { node, relabel }, shared, options.keep ? 0 : options.agents),
      },
      [indexPath]: { type: indexContentType, make: (body) => list(body, store, node, lists) },
    };
    const server = createTlsServer(fixedTls(options.tls), (req, res) => void serve(req, res, answers, read), {
      clientNames: ['svc-query'],
    });
    port = await listen('remote-read', server, { host: `127.0.${i >> 7}.${(i & 127) + 1}`, port });
  }
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send!({ cpuMs: (user + system) / 1000, bytes } satisfies AgentsCost);
  });
  process.send!({ port });
}

/** One agent's share: the first agent that gets a request evaluates it, and each agent encodes the result. */
async function share(
  body: string,
  store: Store,
  { node, relabel }: { node: string; relabel: Relabel },
  shared: Map<string, Shared>,
  agents: number,
): Promise<Uint8Array> {
  const request = decodePartialRequest(body);
  const hash = planHash(request);
  let entry = shared.get(hash);
  if (entry === undefined) {
    const { fragment, steps, settings, maxSamples } = request;
    const source = new StoreSource({ store, partition: { label: nodeLabel, value: template }, maxSamples });
    const result = evaluateFragment(fragment, source, steps, { settings, maxSamples }).finally(() => source.close());
    const { oldestMs, newestMs } = store.stats();
    shared.set(hash, (entry = { result, left: agents, minT: oldestMs ?? null, maxT: newestMs ?? null }));
  }
  if (--entry.left <= 0 && agents > 0) shared.delete(hash);
  const result = await entry.result;
  const own = {
    ...result,
    // Agents send series in label order.
    columns: result.columns
      .map((column) => ({ ...column, labels: relabel(column.labels) }))
      .sort((a, b) => compareLabels(a.labels, b.labels)),
    groups: result.groups.map((group) => ({ ...group, labels: relabel(group.labels) })),
  };
  const header = {
    planHash: hash,
    node,
    labelsOwned: [nodeLabel],
    minT: entry.minT,
    maxT: entry.maxT,
    partitionClean: true,
    engineVersion,
  };
  return Buffer.concat([...encodePartial(header, own, { waitMs: 0, evaluateMs: 0 })]);
}

/** One agent's list of label names, label values or series. It is computed once for all agents and later requests. */
async function list(
  body: string,
  store: Store,
  node: string,
  lists: Map<string, Promise<IndexLists>>,
): Promise<Uint8Array> {
  const { kind, label, sets, startMs, endMs, limit: most } = decodeIndexRequest(body);
  const key = JSON.stringify([kind, label, sets, startMs, endMs, most]);
  const limit = most === 0 ? Infinity : most;
  const made = async (): Promise<IndexLists> => {
    if (kind === 'series') return { texts: [], series: await store.series(sets, startMs, endMs, { limit }) };
    const names = kind === 'names';
    const texts = names
      ? store.labelNames(sets, startMs, endMs, { limit })
      : store.labelValues(label!, sets, startMs, endMs, { limit });
    return { texts: await texts, series: [] };
  };
  let known = lists.get(key);
  if (known === undefined) lists.set(key, (known = made()));
  const { texts, series } = await known;
  const own = {
    texts: label === nodeLabel ? texts.map(() => node) : texts,
    series: Array.from(series, (labels) => rename(labels, node)),
  };
  return Buffer.concat([...encodeIndexAnswer({ kind, node, partitionClean: true }, own)]);
}

function rename(labels: Labels, node: string): Labels {
  return labels.map((label) => (label[0] === nodeLabel ? ([nodeLabel, node] as const) : label));
}

/** The store with the labels of another node. */
function renamed(store: Store, relabel: Relabel): Pick<Store, 'select'> {
  return {
    *select(matchers, mint, maxt) {
      for (const series of store.select(matchers, mint, maxt)) {
        yield { labels: relabel(series.labels), chunks: () => series.chunks() };
      }
    },
  };
}

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  answers: Readonly<Record<string, Answer>>,
  read: ReturnType<typeof createRemoteReadHandler>,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const answer = answers[req.url ?? ''];
  if (answer !== undefined) {
    const frames = await answer.make(body.toString());
    bytes += frames.length;
    res.writeHead(200, { 'content-type': answer.type, 'content-length': frames.length }).end(frames);
    return;
  }
  const { status, headers, body: chunks } = await read({ headers: req.headers, body });
  res.writeHead(status, headers);
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (!res.write(chunk)) await once(res, 'drain');
  }
  res.end();
}

const [options] = (await once(process, 'message')) as [AgentsOptions];
await main(options);
