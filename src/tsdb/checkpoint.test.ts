import fc from 'fast-check';
import { createLogger, silentLogger } from '../base/logger.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { MemoryFiles } from '../testing/tsdb/memory-files.ts';
import { readSamples } from '../testing/tsdb/read-samples.ts';
import { ByteWriter } from './bytes.ts';
import { labelsFromObject, openStore, type Labels, type Store } from './index.ts';
import { checkpointStartPayload, recordType, writeFrame } from './wal/record.ts';
import { segmentMagic } from './wal/wal.ts';

const start = Date.UTC(2026, 0, 1);

const open = (files: MemoryFiles): Promise<Store> =>
  openStore({ dir: '/s', files, clock: new FakeClock(start), logger: silentLogger, checkpointBytes: 1 });

/** Label sets. Some share most of their labels, as the buckets of a histogram do; others share none. */
const labelSet: fc.Arbitrary<Labels> = fc
  .record(
    {
      __name__: fc.constantFrom('m', 'n_bucket', 'ñ'),
      a: fc.constantFrom('1', '2', ''),
      le: fc.constantFrom('0.1', '1', '+Inf', 'x'.repeat(200)),
      pod: fc.string({ unit: 'grapheme', maxLength: 5 }),
      z: fc.constantFrom('1', '2'),
    },
    { requiredKeys: ['__name__'] },
  )
  .map((labels) => labelsFromObject(Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''))));

test('the series of a checkpoint and the log after it survive a crash, whatever their labels', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(labelSet, { minLength: 1, maxLength: 40 }), async (sets) => {
      const files = new MemoryFiles();
      let store = await open(files);
      sets.forEach((labels, i) => store.append(labels, start + i, i));
      await store.commit();
      await store.maintain();
      expect((await files.list('/s/wal')).some((name) => name.startsWith('checkpoint.'))).toBe(true);
      sets.forEach((labels, i) => store.append(labels, start + 1000 + i, -i));
      await store.commit();
      const before = readSamples(store);
      files.crash(() => 0);
      store = await open(files);
      expect(readSamples(store)).toEqual(before);
      await store.close();
    }),
    { numRuns: 60 },
  );
});

test('a checkpoint of many series contains all of them', async () => {
  const files = new MemoryFiles();
  let store = await open(files);
  for (let i = 0; i < 1_700; i++) {
    store.append(labelsFromObject({ __name__: 'm', pod: `p${i % 7}`, series: String(i) }), start, i);
  }
  await store.commit();
  await store.maintain();
  const before = readSamples(store);
  expect(before.size).toBe(1_700);
  files.crash(() => 0);
  store = await open(files);
  expect(readSamples(store)).toEqual(before);
});

test('a checkpoint of series with very long labels is read back', async () => {
  const files = new MemoryFiles();
  let store = await open(files);
  const long = 'x'.repeat(1 << 20);
  for (let i = 0; i < 70; i++) {
    store.append(labelsFromObject({ __name__: 'm', long: `${i}${long}` }), start, i);
    if (i % 10 === 9) await store.commit();
  }
  await store.maintain();
  const before = readSamples(store);
  expect(before.size).toBe(70);
  files.crash(() => 0);
  store = await open(files);
  expect(readSamples(store)).toEqual(before);
});

test('a record that recovery would not accept is not written', () => {
  const out = new ByteWriter();
  expect(() => writeFrame(out, recordType.newSeries, new Uint8Array(64 * 1024 * 1024 + 1))).toThrow('log: a record of');
});

test('a damaged checkpoint is reported once and quarantined, and its number is not used again', async () => {
  const files = new MemoryFiles();
  let store = await open(files);
  store.append(labelsFromObject({ __name__: 'm' }), start, 1);
  await store.commit();
  await store.maintain();
  files.crash(() => 0);
  const inLog = async (): Promise<string[]> => files.list('/s/wal');
  const damaged = (await inLog()).find((name) => name.startsWith('checkpoint.'))!;
  for (const name of await inLog()) if (name !== damaged) await files.remove(`/s/wal/${name}`);
  const file = await files.openWrite(`/s/wal/${damaged}`, 'existing');
  await file.truncate(segmentMagic.length + 1);
  await file.close();
  const errors: string[] = [];
  const logger = createLogger({ level: 'error', write: (line) => void errors.push(line) });
  for (let i = 0; i < 2; i++) {
    store = await openStore({ dir: '/s', files, clock: new FakeClock(start), logger, checkpointBytes: 1 });
    await store.close();
  }
  expect(errors).toEqual([expect.stringContaining('checkpoint is damaged')]);
  expect(files.paths().filter((path) => path.endsWith(damaged))).toEqual([expect.stringContaining('/quarantine')]);
  const number = Number(damaged.split('.')[1]);
  const later = (await inLog()).map((name) => Number(name.replace('checkpoint.', '')));
  expect(later.every((one) => one > number)).toBe(true);
});

test('a checkpoint of an earlier version, with the full labels of each series, is read', async () => {
  const files = new MemoryFiles();
  await (await open(files)).close();
  const out = new ByteWriter();
  out.bytes(segmentMagic);
  writeFrame(out, recordType.checkpointStart, checkpointStartPayload(-Infinity, 8));
  const payload = new ByteWriter();
  payload.varint(7);
  payload.varint(2);
  for (const text of ['__name__', 'm', 'a', '1']) payload.text(text);
  writeFrame(out, recordType.series, payload.view());
  payload.clear();
  payload.zigzag(7);
  payload.zigzag(start);
  payload.trimmedWords(0x40000000, 0);
  writeFrame(out, recordType.samples, payload.view());
  writeFrame(out, recordType.checkpointEnd, new Uint8Array(0));
  const file = await files.openWrite('/s/wal/checkpoint.00000001', 'create');
  await file.write(out.view(), 0);
  await file.sync();
  await file.close();
  const store = await open(files);
  const [[key, samples] = []] = [...readSamples(store)];
  expect(key).toContain('__name__');
  expect([...samples!]).toEqual([[start, '4000000000000000']]);
});
