import type { FileLayer, WritableFile } from '../../tsdb/index.ts';
import { MemoryFiles } from '../../testing/tsdb/memory-files.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';
import { ShiftedClock } from '../../testing/shifted-clock.ts';

/**
 * These tests query the agents' stores through the API while the stores cut blocks, merge them and delete what is too
 * old. On every execution path a sample counts once, and retention deletes whole ranges.
 */

const nodes = ['node-1', 'node-2'];
const pods = ['a', 'b', 'c'];
const hour = 3_600_000;
const step = 60_000;
const start = Date.UTC(2026, 5, 1);
const hours = 20;
const end = start + hours * hour;
let clock: ShiftedClock;
let stage: QueryStage;

/** A disk on which each call takes a turn of the event loop, so that requests run in between. */
function slowDisk(): FileLayer {
  const slow = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (of, name) => {
        const member: unknown = Reflect.get(of, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(member, of, args);
          if (!(result instanceof Promise)) return result;
          return result.then(async (value: unknown) => {
            await new Promise<void>((resolve) => setImmediate(resolve));
            return name === 'openWrite' ? slow(value as WritableFile) : value;
          });
        };
      },
    });
  return slow<FileLayer>(new MemoryFiles());
}

beforeEach(async () => {
  clock = new ShiftedClock(start);
  stage = await startQueryStage({ nodes, clock, files: slowDisk });
  // The clock advances with the samples: a sample far ahead of the clock would be refused.
  for (let k = 0; k * step < hours * hour; k++, clock.shift(step)) {
    for (const node of nodes) {
      for (const pod of pods) stage.cluster.append(node, { __name__: 'm', pod }, start + k * step, k);
    }
  }
});
afterEach(() => stage.close());

/** The number of samples of each node that a query finds on an execution path. */
async function found(path: string): Promise<number[]> {
  const query =
    path === 'whole'
      ? `sum(count_over_time(m{k8s_node_name="node-1"}[${hours}h]))`
      : `sum by (k8s_node_name) (count_over_time(m[${hours}h]))`;
  const params = { query, time: String((end - step) / 1000) };
  const answer = await stage.ask('/api/v1/query', params, { headers: { 'x-svc-pushdown': path } });
  expect([answer.status, answer.json.degraded, answer.headers['x-svc-pushdown']]).toEqual([200, false, path]);
  const { result } = answer.json.data as { result: { value: [number, string] }[] };
  return result.map(({ value }) => Number(value[1]));
}

/** Repeats a query on an execution path until the upkeep of the stores has ended, and returns the answers. */
async function whileKeptUp(path: string): Promise<number[][]> {
  const answers: number[][] = [];
  let done = false;
  const upkeep = Promise.all(stage.cluster.agents.map(({ store }) => store.maintain())).finally(() => (done = true));
  do answers.push(await found(path));
  while (!done);
  await upkeep;
  answers.push(await found(path));
  return answers;
}

const whole = hours * 60 * pods.length;
const paths = ['off', 'series', 'agg', 'whole'];
const blocks = (): number[] => stage.cluster.agents.map(({ store }) => store.stats().blocks);

test.each(paths)('path %s: cutting and merging blocks changes no answer', async (path) => {
  const answers = await whileKeptUp(path);
  expect(answers.length).toBeGreaterThan(2);
  for (const answer of answers) expect(answer).toEqual(path === 'whole' ? [whole] : [whole, whole]);
  // Nine ranges of two hours are complete. With a retention of one day, every three of them form one block.
  expect(blocks()).toEqual([3, 3]);
});

test.each(paths)('path %s: retention deletes whole ranges, for all series of a node together', async (path) => {
  for (const { store } of stage.cluster.agents) store.setRetention({ ms: 7 * hour, bytes: Infinity });
  const answers = await whileKeptUp(path);
  const perRange = 2 * 60 * pods.length;
  const last = whole - 6 * perRange;
  for (const [i, counts] of answers.entries()) {
    expect(counts).toHaveLength(path === 'whole' ? 1 : nodes.length);
    for (const [n, count] of counts.entries()) {
      expect([count, count % perRange]).toEqual([count, 0]);
      expect(count).toBeGreaterThanOrEqual(last);
      expect(count).toBeLessThanOrEqual(answers[i - 1]?.[n] ?? whole);
    }
  }
  expect(answers.at(-1)).toEqual(path === 'whole' ? [last] : [last, last]);
});
