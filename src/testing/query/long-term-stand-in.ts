import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { parseSelector } from '../../promql/index.ts';
import {
  compileMatcher,
  createRemoteReadHandler,
  labelsFromObject,
  labelsToObject,
  labelValue,
  openStore,
  type Labels,
} from '../../tsdb/index.ts';
import { MemoryFiles } from '../tsdb/memory-files.ts';

/**
 * How the long-term store behaves: `well` answers, `gone` cuts connections, `frozen` never answers, `guarded` answers
 * 401, `limited` refuses queries as too large, `partial` warns that one of the stores behind it does not answer.
 */
export type LongTermState = 'well' | 'gone' | 'frozen' | 'guarded' | 'limited' | 'partial';

/**
 * A long-term store that answers like Prometheus and Thanos: remote read, range selectors and lists of series by the
 * query API, external labels, refusals. The checks in `e2e/query/long-term-suite.ts` run against this stand-in, a real
 * Prometheus and a real Thanos.
 */
export interface LongTermStandIn {
  readonly url: string;
  /** A change takes effect with the next request. */
  state: LongTermState;
  append(labels: Readonly<Record<string, string>>, t: number, value: number): void;
  close(): Promise<void>;
}

/** Starts a long-term store that adds the labels `external` to every series. */
export async function startLongTermStandIn(external: Readonly<Record<string, string>> = {}): Promise<LongTermStandIn> {
  const store = await openStore({ dir: '/long', files: new MemoryFiles(), clock: systemClock, logger: silentLogger });
  const read = createRemoteReadHandler(store);
  const all = new Map<string, { labels: Labels; samples: [t: number, value: number][] }>();
  const found = (selector: string, from: number, to: number): { labels: Labels; samples: [number, number][] }[] => {
    const matchers = parseSelector(selector).matchers.map(compileMatcher);
    return [...all.values()].flatMap(({ labels, samples }) => {
      const own = samples.filter(([t]) => t > from && t <= to);
      const fits = matchers.every((one) => one.matches(labelValue(labels, one.name)));
      return fits && own.length > 0 ? [{ labels, samples: own }] : [];
    });
  };
  const byApi = (path: string, form: URLSearchParams): unknown => {
    if (path === '/api/v1/series') {
      const ms = (name: string): number => Number(form.get(name)) * 1000;
      return found(form.get('match[]')!, ms('start') - 1, ms('end')).map(({ labels }) => labelsToObject(labels));
    }
    const [, selector, range] = /^(\{.*\})\[(\d+)ms\]$/s.exec(form.get('query')!)!;
    const to = Math.round(Number(form.get('time')) * 1000);
    const result = found(selector!, to - Number(range), to).map(({ labels, samples }) => ({
      metric: labelsToObject(labels),
      values: samples.map(([t, value]) => [t / 1000, textOf(value)]),
    }));
    return { resultType: 'matrix', result };
  };
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const json = (status: number, value: object): void =>
      void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const refuse = (error: string): void => json(422, { status: 'error', errorType: 'execution', error });
    const path = req.url!;
    const form = new URLSearchParams(path === '/api/v1/read' ? '' : body.toString());
    if (standIn.state === 'gone') return void req.socket.destroy();
    if (standIn.state === 'frozen') return;
    if (standIn.state === 'guarded') return void res.writeHead(401).end('Unauthorized\n');
    if (standIn.state === 'limited') return refuse('query processing would load too many samples into memory');
    if (path === '/api/v1/read') {
      const { status, headers, body: frames } = await read({ headers: req.headers, body });
      res.writeHead(status, headers);
      for await (const frame of frames) res.write(frame);
      return void res.end();
    }
    // Thanos warns of a store that refuses connections, even if the request does not allow partial answers.
    const warnings = standIn.state === 'partial' ? { warnings: ['a store is unavailable'] } : {};
    json(200, { status: 'success', data: byApi(path, form), ...warnings });
  };
  const server = createServer((req, res) => void answer(req, res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const standIn: LongTermStandIn = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    state: 'well',
    append(own, t, value) {
      const labels = labelsFromObject({ ...external, ...own });
      store.append(labels, t, value);
      const key = JSON.stringify(labels);
      if (!all.has(key)) all.set(key, { labels, samples: [] });
      all.get(key)!.samples.push([t, value]);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await store.close();
    },
  };
  return standIn;
}

/** A number as Prometheus writes it. */
function textOf(value: number): string {
  return Number.isFinite(value) || Number.isNaN(value) ? String(value) : value > 0 ? '+Inf' : '-Inf';
}
