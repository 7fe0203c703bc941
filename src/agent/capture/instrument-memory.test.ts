import { residentMemory } from './instrument-memory.ts';

test('the memory of a process is read by its id, and is null where there is no such process', async () => {
  const own = await residentMemory(process.pid);
  expect(own).toBeGreaterThan(10 * 1024 ** 2);
  expect(own! % 1024).toBe(0);
  expect(await residentMemory(process.pid, '/proc/none')).toBeNull();
  expect(await residentMemory(null)).toBeNull();
});
