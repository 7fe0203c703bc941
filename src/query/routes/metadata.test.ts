import { metadataOf, mergedMetadata, type AgentMetadata } from './metadata.ts';

const entry = (help: string) => ({ type: 'gauge', help, unit: '' });

test('very many agents with different entries are merged in a moment, and in turns', async () => {
  const answers = Array.from({ length: 4_000 }, (_, agent): AgentMetadata => [
    ['load', Array.from({ length: 16 }, (_, i) => entry(`${agent} ${i}`))],
  ]);
  let [work, turns] = [0, 0];
  const pacing = { spend: (more: number) => (work += more) > 100_000, turn: async () => void ((work = 0), turns++) };
  const started = performance.now();
  const found = await mergedMetadata([...answers, ...answers], pacing);
  expect(performance.now() - started).toBeLessThan(2_000);
  expect(found.get('load')).toHaveLength(64_000);
  expect(turns).toBeGreaterThan(100);
});

test('a unit that is also a name of JavaScript stays as it is', () => {
  const [[, entries]] = metadataOf({ load: [{ ...entry(''), unit: 'constructor' }] }) as [AgentMetadata[number]];
  expect(entries).toEqual([{ ...entry(''), unit: 'constructor' }]);
});
