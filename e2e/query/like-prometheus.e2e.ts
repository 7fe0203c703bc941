import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { labelsFromObject } from '../../src/tsdb/index.ts';
import { until } from '../../src/testing/until.ts';
import { startPeer } from '../prometheus/server.ts';
import type { Peer } from '../prometheus/server.ts';
import { remoteWrite } from '../prometheus/remote-write.ts';
import { alikeRequests, refusedRequests, sameRequests } from './api-requests.ts';
import type { ApiRequest } from './api-requests.ts';

/** Every path and parameter of the query API, compared with a real Prometheus over the same samples. */

const now = Math.floor(Date.now() / 60_000) * 60_000;
const nodes = ['node-1', 'node-2', 'node-3'];
let peer: Peer;
/** A second Prometheus, which scrapes and so has targets and metadata; its series are not compared. */
let scraping: Peer;
let stage: QueryStage;
let target: Server;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

beforeAll(async () => {
  target = createServer((_req, res) => {
    res
      .setHeader('content-type', 'text/plain; version=0.0.4')
      .end('# HELP up_one One.\n# TYPE up_one gauge\nup_one 1\n');
  });
  await new Promise<void>((done) => target.listen(0, '127.0.0.1', done));
  const { port } = target.address() as AddressInfo;
  const scrape = `{job_name: svc-agents, scrape_interval: 1s, static_configs: [{targets: ['127.0.0.1:${port}']}]}`;
  scraping = await startPeer({ config: `scrape_configs: [${scrape}]\n` });
  peer = await startPeer({ features: ['promql-experimental-functions'] });
  stage = await startQueryStage({ nodes });
  const series: Parameters<typeof remoteWrite>[1][number][] = [];
  for (const [i, node] of nodes.entries()) {
    const put = (labels: Record<string, string>, valueAt: (k: number) => number): void => {
      const samples = Array.from({ length: 41 }, (_, k) => ({ time: now - (40 - k) * 15_000, value: valueAt(k) }));
      for (const { time, value } of samples) stage.cluster.append(node, labels, time, value);
      series.push({ labels: labelsFromObject({ ...labels, k8s_node_name: node }), samples });
    };
    put({ __name__: 'svc_agent_up' }, () => 1);
    put({ __name__: 'requests_count', service_name: 'shop', k8s_namespace_name: 'a' }, (k) => k * (i + 1) * 15);
    for (const [j, le] of ['0.1', '1', '+Inf'].entries()) {
      put({ __name__: 'requests_bucket', service_name: 'shop', le }, (k) => k * (j + 1) * (i + 1));
    }
    put({ __name__: 'odd', kind: 'nan' }, () => NaN);
    put({ __name__: 'odd', kind: 'inf' }, (k) => (k % 2 ? Infinity : -Infinity));
    put({ __name__: 'odd', kind: 'zero' }, () => -0);
    put({ __name__: 'odd', kind: 'tiny' }, (k) => k * 1e-9 + 1e-7 / 3);
    put({ __name__: 'odd', kind: 'huge' }, (k) => k * 1e21);
    put({ __name__: 'utf.8 name', 'label.ö': 'a "value"\n\\' }, (k) => k);
  }
  await remoteWrite(peer.url, series);
  await until('the target was scraped', async () =>
    (await (await fetch(`${scraping.url}/api/v1/metadata`)).text()).includes('up_one') ? true : undefined,
  );
}, 120_000);
afterAll(async () => {
  await Promise.all([peer?.stop(), scraping?.stop()]);
  await stage?.close();
  target?.close();
});

async function theirs({ path, params, form, method }: ApiRequest): Promise<Answer> {
  const { url: base } = /targets|scrape_pools|metadata/.test(path) ? scraping : peer;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    for (const one of [value].flat()) search.append(name, one as string);
  const url = `${base}${path}${form || search.size === 0 ? '' : `?${search}`}`;
  const response = await fetch(url, { method: method ?? (form ? 'POST' : 'GET'), ...(form ? { body: search } : {}) });
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
  };
}

async function ours({ path, params, form, method }: ApiRequest): Promise<Answer> {
  const answer = await stage.ask(path, params, { form, ...(method === undefined ? {} : { method }) });
  return { status: answer.status, type: String(answer.headers['content-type']), text: answer.text };
}

const named = (requests: ApiRequest[]): [string, ApiRequest][] =>
  requests.map((request) => {
    const verb = request.method ?? (request.form ? 'POST' : 'GET');
    return [`${verb} ${request.path} ${JSON.stringify(request.params)}`, request];
  });

/** An answer with its body as an object, without the fields that only we have, and with vectors sorted. */
function comparable({ text, ...head }: Answer): object {
  if (!head.type.includes('json')) return { ...head, text };
  const body = JSON.parse(text) as Record<string, unknown>;
  delete body['degraded'];
  delete body['missingNodes'];
  const data = body['data'] as { resultType?: string; result?: { metric: object }[] } | undefined;
  if (data?.resultType === 'vector') {
    const key = ({ metric }: { metric: object }): string => JSON.stringify(Object.entries(metric).sort());
    data.result!.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }
  return { ...head, body };
}

test.each(named(sameRequests(now / 1000)))('the same answer as from Prometheus: %s', async (_name, request) => {
  expect(comparable(await ours(request))).toEqual(comparable(await theirs(request)));
});

test.each(named(refusedRequests(now / 1000)))('refused as by Prometheus: %s', async (_name, request) => {
  const refusal = ({ status, type, text }: Answer): object => {
    const body = JSON.parse(text) as Record<string, unknown>;
    return { status, type, keys: Object.keys(body).sort(), errorType: body['errorType'], kind: body['status'] };
  };
  const answer = await ours(request);
  expect(answer.status).toBe(400);
  expect(refusal(answer)).toEqual(refusal(await theirs(request)));
});

/**
 * Paths of the fields that a value lacks, or has with another type than the model. Of two lists only the first
 * elements are compared, if both lists have any.
 */
function lacks(value: unknown, model: unknown, at: string): string[] {
  const kind = (one: unknown): string => (Array.isArray(one) ? 'list' : one === null ? 'null' : typeof one);
  if (kind(value) !== kind(model)) return [`${at}: ${kind(value)} instead of ${kind(model)}`];
  if (Array.isArray(model)) {
    return model.length === 0 || (value as unknown[]).length === 0
      ? []
      : lacks((value as unknown[])[0], model[0], `${at}[0]`);
  }
  if (typeof model !== 'object' || model === null) return [];
  return Object.entries(model).flatMap(([key, inner]) =>
    key in (value as object) ? lacks((value as Record<string, unknown>)[key], inner, `${at}.${key}`) : [`${at}.${key}`],
  );
}

test.each(named(alikeRequests(now / 1000)))("our answer has all of Prometheus' fields: %s", async (_name, request) => {
  const [a, b] = [await ours(request), await theirs(request)];
  expect([a.status, a.type]).toEqual([b.status, b.type]);
  const [mine, model] = [a, b].map(({ text }) => JSON.parse(text) as { data: Record<string, unknown> });
  // Keys that are names of metrics or of a target's labels are data, not fields: they are not compared.
  if (request.path === '/api/v1/metadata') {
    expect(lacks(Object.values(mine!.data)[0], Object.values(model!.data)[0], 'entry')).toEqual([]);
    return;
  }
  for (const { data } of [mine!, model!]) {
    for (const one of (data['activeTargets'] ?? []) as Record<string, unknown>[]) {
      one['discoveredLabels'] = one['labels'] = {};
    }
  }
  expect(lacks(mine, model, 'body')).toEqual([]);
});

test('the features have the names of Prometheus, and its values but for those that differ on purpose', async () => {
  // This Prometheus takes the samples of the test by remote write.
  const differ = ['api openapi_3.1', 'api openapi_3.2', 'api remote_write_receiver', 'promql per_step_stats'];
  const list = async (answer: Promise<Answer>): Promise<[string, boolean][]> => {
    const { data } = JSON.parse((await answer).text) as { data: Record<string, Record<string, boolean>> };
    return Object.entries(data).flatMap(([category, own]) =>
      Object.entries(own).map(([name, isOn]): [string, boolean] => [`${category} ${name}`, isOn]),
    );
  };
  const request: ApiRequest = { path: '/api/v1/features', params: {}, form: false };
  const [mine, model] = [await list(ours(request)), new Map(await list(theirs(request)))];
  expect(mine.filter(([name, isOn]) => model.get(name) !== isOn).map(([name]) => name)).toEqual(differ);
  expect(differ.filter((name) => !model.has(name))).toEqual([]);
  const ofLanguage = [...model.keys()].filter((name) => name.startsWith('promql'));
  expect(mine.map(([name]) => name)).toEqual(expect.arrayContaining(ofLanguage));
});

test('flags that clients look up have the names and defaults of Prometheus', async () => {
  const flags = async (answer: Promise<Answer>): Promise<Record<string, string>> =>
    (JSON.parse((await answer).text) as { data: Record<string, string> }).data;
  const request: ApiRequest = { path: '/api/v1/status/flags', params: {}, form: false };
  const [mine, model] = [await flags(ours(request)), await flags(theirs(request))];
  const shared = Object.keys(mine).filter((name) => name in model && !name.startsWith('web.'));
  expect(shared).toEqual(
    expect.arrayContaining(['query.lookback-delta', 'query.max-concurrency', 'query.max-samples', 'query.timeout']),
  );
  for (const name of shared) expect([name, mine[name]]).toEqual([name, model[name]]);
});
