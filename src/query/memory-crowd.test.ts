import { startQueryStage } from '../testing/query/query-stage.ts';

const limitBytes = 16 * 1024 ** 2;
const steps = 5_000;
const seriesOfNode = 50;
const crowd = 10;
/** The operand of a query, with one value for each step of each series; its result takes as much. */
const operandBytes = 2 * seriesOfNode * steps * 8;

/** Most that many large queries at once held together, how often one of them began again, and how they were answered. */
async function holdTogether(queryMemory: number): Promise<{ peak: number; restarts: number; statuses: number[] }> {
  const stage = await startQueryStage({ nodes: ['node-1', 'node-2'], flags: { queryMemory: String(queryMemory) } });
  try {
    const now = Date.now();
    for (const node of ['node-1', 'node-2']) {
      for (let i = 0; i < seriesOfNode; i++) {
        stage.cluster.append(node, { __name__: 'x', i: `${i}`, k8s_node_name: node }, now - 1_000, i);
      }
    }
    const { runner } = stage.server;
    let peak = 0;
    let isRunning = true;
    const watch = (): void => {
      peak = Math.max(peak, runner.heldBytes);
      if (isRunning) setImmediate(watch);
    };
    watch();
    const answers = await Promise.all(
      Array.from({ length: crowd }, (_, i) => {
        const query = `quantile(0.5, x @ ${now / 1000} * on () group_left () vector(time() + ${i}))`;
        const range = { start: `${now / 1000 - steps}`, end: `${now / 1000}`, step: '1', timeout: '60s' };
        return stage.ask('/api/v1/query_range', { query, ...range }, { headers: { 'x-svc-pushdown': 'off' } });
      }),
    );
    isRunning = false;
    expect(runner.heldBytes).toBe(0);
    return { peak, restarts: runner.memoryRestarts, statuses: answers.map(({ status }) => status) };
  } finally {
    await stage.close();
  }
}

test('many large queries at once hold no more than the pool has, and all are answered', async () => {
  const { peak, restarts, statuses } = await holdTogether(limitBytes);
  expect(statuses).toEqual(Array.from({ length: crowd }, () => 200));
  expect(peak).toBeLessThanOrEqual(limitBytes);
  expect(peak).toBeGreaterThan(operandBytes);
  expect(restarts).toBeGreaterThan(0);
}, 60_000);

test('without the pool the same queries would hold several times as much', async () => {
  const { peak, restarts } = await holdTogether(2 ** 40);
  expect(peak).toBeGreaterThan(2 * limitBytes);
  expect(restarts).toBe(0);
}, 60_000);
