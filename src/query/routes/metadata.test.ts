import { metadataOf, mergedMetadata, type AgentMetadata } from './metadata.ts';

/** A pacing that counts the turns: one after the work on 100,000 samples. */
const pacing = () => {
  let work = 0;
  return {
    turns: 0,
    spend: (more: number) => (work += more) > 100_000,
    turn(): Promise<void> {
      work = 0;
      this.turns++;
      return Promise.resolve();
    },
  };
};
const entry = (help: string) => ({ type: 'gauge', help, unit: '' });

test('very many agents with different entries are merged in a moment, and in turns', async () => {
  const answers = Array.from({ length: 4_000 }, (_, agent): AgentMetadata => [
    ['load', Array.from({ length: 16 }, (_, i) => entry(`${agent} ${i}`))],
  ]);
  const paced = pacing();
  const before = process.threadCpuUsage();
  const found = await mergedMetadata([...answers, ...answers], paced);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(2);
  expect(found.get('load')).toHaveLength(64_000);
  expect(paced.turns).toBeGreaterThan(100);
});

test('metrics without an entry are merged in turns, too', async () => {
  const paced = pacing();
  const answer = Array.from({ length: 10_000 }, (_, i): AgentMetadata[number] => [`load_${i}`, []]);
  expect((await mergedMetadata([answer], paced)).size).toBe(10_000);
  expect(paced.turns).toBeGreaterThan(5);
});

test('the metadata of one agent is checked in turns', async () => {
  const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`load_${i}`, [entry('')]]));
  const paced = pacing();
  expect(await metadataOf(data, paced)).toHaveLength(10_000);
  expect(paced.turns).toBeGreaterThan(5);
  await expect(metadataOf({ load: [{ type: 'gauge' }] }, pacing())).rejects.toThrow('metadata of "load" /0/help');
  for (const wrong of [null, [], 'text']) {
    await expect(metadataOf(wrong, pacing())).rejects.toThrow('metadata');
  }
});

test('a unit that is also a name of JavaScript stays as it is', async () => {
  const odd = { ...entry(''), unit: 'constructor' };
  expect(await metadataOf({ load: [odd] }, pacing())).toEqual([['load', [odd]]]);
});
