import type { Panel } from '../state/panels.ts';

Object.assign(globalThis, { sessionStorage: { getItem: () => null, setItem: () => {} } });
const { answered, askAll } = await import('./panel-answers.ts');

const panel: Panel = { expr: 'x', range: 604_800, end: 1_000_000, stacked: false, log: false, exemplars: true };
const vector = { resultType: 'vector', result: [] };
const success = (data: unknown): Response => Response.json({ status: 'success', data });
const failure = (status: number, error: string): Response => Response.json({ status: 'error', error }, { status });

/** The answers to a panel's requests by the last part of their path. */
async function asked(responses: Readonly<Record<string, Response>>, aborted = false) {
  const { fetch } = globalThis;
  const all = { query: success(vector), query_range: success({ ...vector, resultType: 'matrix' }), ...responses };
  globalThis.fetch = (url) => {
    const path = /v1\/(\w+)/.exec(String(url))![1]!;
    return Promise.resolve(({ query_exemplars: success([]), ...all } as Record<string, Response>)[path]!);
  };
  try {
    return await askAll(panel, { signal: aborted ? AbortSignal.abort() : new AbortController().signal });
  } finally {
    globalThis.fetch = fetch;
  }
}

test('a graph or exemplars that fail alone say so, beside the values', async () => {
  const tooMany = failure(422, 'query processing would load too many samples');
  const { now, graph, found } = await asked({ query_range: tooMany, query_exemplars: failure(503, 'busy') });
  expect(now.data).toEqual(vector);
  expect(graph).toMatchObject({ kind: 'refused', message: 'No graph: query processing would load too many samples' });
  expect(found).toMatchObject({ kind: 'unavailable', message: 'No exemplars: busy' });
  expect([answered(graph), answered(found)]).toEqual([undefined, undefined]);
});

test.each([
  ['string', [0, 'a']],
  ['matrix', []],
])('a %s has no graph, which is no failure', async (resultType, result) => {
  const refusal = failure(400, 'invalid expression type');
  const { graph } = await asked({ query: success({ resultType, result }), query_range: refusal });
  expect(graph).toBeUndefined();
});

test('a query whose values fail fails as a whole, with their error', async () => {
  const responses = { query: failure(422, 'values'), query_range: failure(422, 'graph') };
  await expect(asked(responses)).rejects.toMatchObject({ kind: 'refused', message: 'values' });
  await expect(asked({}, true)).rejects.toMatchObject({ name: 'AbortError' });
});

test('what is answered is handed on as it is', async () => {
  const { graph, found } = await asked({});
  const times = { start: 395_200, end: 1_000_000, step: 2419 };
  expect(answered(graph)?.data).toEqual({ resultType: 'matrix', result: [], asked: times });
  expect(answered(found)?.data).toEqual([]);
});
