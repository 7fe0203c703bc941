import { requestFamilies } from '../../src/api/page/request-families.ts';
import { Engine } from '../../src/promql/index.ts';
import { MemorySource } from '../../src/testing/promql/memory-source.ts';
import { parseMetric } from '../../src/testing/promql/series-description.ts';
import { serviceQueries } from './service-queries.ts';

const minute = 60_000;
const queries = serviceQueries({ namespace: 'shop', name: 'cart', kind: 'CloneSet' });
const own = 'k8s_namespace_name="shop", k8s_owner_name="cart", k8s_kind="CloneSet", k8s_pod_name="cart-1"';

/** The answer to a query over counters that count so many requests a second. Shape: text of labels → value. */
async function answer(expr: string, counters: Readonly<Record<string, number>>): Promise<Record<string, number>> {
  const source = new MemorySource();
  for (const [metric, perSecond] of Object.entries(counters)) {
    const samples = Array.from({ length: 11 }, (_, i) => ({ time: i * minute, value: 60 * perSecond * i }));
    source.load(parseMetric(metric), samples);
  }
  const engine = new Engine({ monotonic: () => 0 });
  const { value } = await engine.instant(expr, 10 * minute, { source });
  if (value.type !== 'vector') throw new Error(`a ${value.type}`);
  return Object.fromEntries(
    value.elements.map((e) => [e.labels.map(([name, of]) => `${name}=${of}`).join(), Number(e.value.toFixed(6))]),
  );
}

const served = requestFamilies.filter(({ side }) => side === 'server').map(({ metric }) => [metric]);

test.each(served)('the graphs of a workload that is asked through %s alone are not empty', async (metric) => {
  const counters = { [`${metric}_count{${own}}`]: 12 };
  expect(await answer(queries.rate, counters)).toEqual({ '': 12 });
  expect(await answer(queries.by('k8s_pod_name'), counters)).toEqual({ 'k8s_pod_name=cart-1': 12 });
  expect(await answer(queries.errorShare, counters)).toEqual({ '': 0 });
  const buckets = { [`${metric}_bucket{${own}, le="0.1"}`]: 12, [`${metric}_bucket{${own}, le="+Inf"}`]: 12 };
  expect(await answer(queries.p99, buckets)).toEqual({ '': 99 });
});

test('the numbers of all protocols are added up, also of series that differ only in their names', async () => {
  const counters = {
    [`http_server_request_duration_count{${own}, http_route="/a", http_response_status_code="200"}`]: 6,
    [`http_server_request_duration_count{${own}, http_route="/a", http_response_status_code="503"}`]: 2,
    [`rpc_server_call_duration_count{${own}, rpc_method="/b", rpc_response_status_code="OK"}`]: 5,
    [`rpc_server_call_duration_count{${own}, rpc_method="/b", rpc_response_status_code="INTERNAL"}`]: 1,
    [`rpc_server_duration_count{${own}, rpc_method="/b", rpc_grpc_status_code="0"}`]: 1,
    [`rpc_server_duration_count{${own}, rpc_method="/b", rpc_grpc_status_code="13"}`]: 1,
    [`http_server_request_duration_count{${own}}`]: 2,
    [`rpc_server_call_duration_count{${own}}`]: 2,
    [`http_server_request_duration_count{${own.replace('CloneSet', 'Deployment')}}`]: 100,
    [`http_client_request_duration_count{${own}}`]: 100,
  };
  expect(await answer(queries.rate, counters)).toEqual({ '': 20 });
  expect(await answer(queries.errorShare, counters)).toEqual({ '': 0.2 });
  expect(await answer(queries.by('http_route', 'rpc_method'), counters)).toEqual({
    'http_route=/a': 8,
    'rpc_method=/b': 8,
    '': 4,
  });
});
