import { systemClock } from '../../base/clock.ts';
import { MemoryPool } from '../../base/memory-pool.ts';
import { turns } from '../../base/turns/turns.ts';
import { Engine, type SelectRequest } from '../../promql/index.ts';
import { fixedDirectory } from '../../testing/query/fixed-directory.ts';
import { AgentFailure } from '../fanout/failure.ts';
import type { LongTermStore } from '../long-term/long-term-store.ts';
import { RunningQuery } from './running-query.ts';
import { limitsOf, type RunnerOptions } from './runner-options.ts';

const request = { signal: new AbortController().signal, partialResponse: true };
const select = (value: string): SelectRequest => ({
  matchers: [{ type: '=', name: '__name__', value }],
  mint: 0,
  maxt: 1000,
  hints: { start: 0, end: 1000, step: 0, range: 0, func: '', grouping: [], by: false },
});

/** Calls `run` with a query over a long-term store; `held` returns the bytes of memory that the query is charged. */
async function withQuery<T>(
  store: LongTermStore,
  run: (query: RunningQuery, held: () => number) => Promise<T>,
): Promise<T> {
  const runner: RunnerOptions = {
    directory: fixedDirectory([]),
    reader: () => Promise.reject(new Error('no agent is asked')),
    engine: new Engine(),
    clock: systemClock,
    ...{ agentTimeoutMs: 5_000, queryTimeoutMs: 60_000, maxSamples: 1e6, maxConcurrency: 1, memoryBytes: 1e9 },
    longTerm: { store, afterMs: 60_000 },
  };
  const pool = new MemoryPool({ limitBytes: 1e9, freeBytes: 0 });
  const account = pool.open('');
  const own = turns.begin('', request.signal);
  try {
    return await account.run(request.signal, (lease) => {
      const deadline = systemClock.monotonic() + 60_000;
      const limits = limitsOf(runner, request);
      return run(new RunningQuery({ runner, request, limits, deadline, turns: own, lease }), () => pool.heldBytes);
    });
  } finally {
    own.end();
    account.close();
  }
}

test('a read of the long-term store is aborted when its evaluation ends', async () => {
  const aborted: boolean[] = [];
  const store: LongTermStore = {
    read: (_queries, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(true);
          reject(signal.reason as Error);
        });
      }),
  };
  await withQuery(store, async (query) => {
    const evaluated = query.evaluate(async ({ source }) => {
      source.select(select('x')).catch(() => {});
      await Promise.resolve();
      throw new Error('the other operand failed');
    });
    await expect(evaluated).rejects.toThrow('the other operand failed');
    expect(aborted).toEqual([true]);
  });
});

test('an evaluation that restarts without the long-term store is not charged for its first attempt', async () => {
  const samples = 1_000;
  let asked = 0;
  const store: LongTermStore = {
    read: async (queries, { budget }) => {
      if (++asked > 1) throw new AgentFailure('unreachable', 'away');
      budget.memory?.take(16 * samples);
      budget.left -= samples;
      return queries.map(() => []);
    },
  };
  const heldAtStart: number[] = [];
  await withQuery(store, async (query, held) => {
    const { lost } = await query.evaluate(async ({ source }) => {
      heldAtStart.push(held());
      await source.select(select('first'));
      await source.select(select('second'));
    });
    expect([...lost.keys()]).toEqual(['long-term-store']);
  });
  expect([heldAtStart, asked]).toEqual([[0, 0], 2]);
});
