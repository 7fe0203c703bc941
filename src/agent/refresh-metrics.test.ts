import { unknownInstrument, type InstrumentView } from './capture/instrument-state.ts';
import { ownFamilies } from './exposition/own.ts';
import { refreshMetrics, type StateSources } from './refresh-metrics.ts';
import { createSelfMetrics } from './self-metrics.ts';

/** Families that the instrument sends about itself: it avoids one service, which is instrumented by its own code. */
const families = new Map([
  ['obi_avoided_services', { name: 'obi_avoided_services', groups: new Map([['', { series: [{ total: 1 }] }]]) }],
]);
const metrics = createSelfMetrics({ node: 'node-1', version: '1' });
const process1 = { file: 'sha256:1', pid: process.pid, startMs: 5_000, stoppedMs: null };

/** The samples of the instrument's gauges in the state `view`, and of a store whose oldest sample is at `oldestMs`. */
async function shown(view: Partial<InstrumentView>, oldestMs?: number): Promise<Record<string, number>> {
  const stats = {
    ...{ series: 0, samplesAppended: 0, blockBytes: 0, walBytes: 0, headChunkBytes: 0 },
    quarantinedBlocks: 0,
  };
  await refreshMetrics({
    metrics,
    mapper: { limits: { maxNodeSeries: 1 }, table: { families } },
    store: { stats: () => ({ ...stats, oldestMs }) },
    capture: { instrument: { ...unknownInstrument, ...view }, generations: { desired: 1, running: 1 }, ack: null },
  } as unknown as StateSources);
  const page = await ownFamilies(metrics.registry);
  return Object.fromEntries(
    page.flatMap(({ name, blocks }) =>
      /instrument_(up|memory|start|avoided|gap)|oldest/.test(name)
        ? [...blocks].flat().map(({ value }) => [name.replace('svc_', ''), value])
        : [],
    ),
  );
}

test('the gauges of the instrument’s process are on the page only while the instrument answers', async () => {
  const down = { instrument_up: 0, instrument_gap_seconds: 0 };
  expect(await shown({})).toEqual(down);
  const up = {
    ...{
      instrument_up: 1,
      instrument_gap_seconds: 0,
      instrument_start_time_seconds: 5,
      instrument_avoided_services: 1,
    },
    instrument_memory_bytes: expect.any(Number) as number,
  };
  expect(await shown({ up: true, process: process1 })).toEqual(up);
  expect(await shown({ up: false, process: process1 })).toEqual(down);
  const next = { ...process1, startMs: 9_000 };
  const restarted = { ...up, instrument_start_time_seconds: 9, instrument_gap_seconds: 2 };
  expect(await shown({ up: true, process: next, gapMs: 2_000 })).toEqual(restarted);
  expect(await shown({ up: false, process: next, gapMs: 2_000 })).toEqual({ ...down, instrument_gap_seconds: 2 });
});

test('if the instrument’s process cannot be found, its memory is not reported', async () => {
  expect(await shown({ up: true, process: process1 })).toHaveProperty('instrument_memory_bytes');
  expect(await shown({ up: true, process: { ...process1, pid: 2 ** 30 } })).not.toHaveProperty(
    'instrument_memory_bytes',
  );
});

test('an empty store has no oldest sample', async () => {
  expect(await shown({}, 7_000)).toHaveProperty('tsdb_oldest_timestamp', 7);
  expect(await shown({})).not.toHaveProperty('tsdb_oldest_timestamp');
});
