import { FakeClock } from '../../src/testing/fake-clock.ts';
import { createReport } from './report.ts';

/** The lines that are printed for a step of twenty minutes. */
async function linesOfALongStep(terminal: boolean): Promise<string[]> {
  const clock = new FakeClock();
  const lines: string[] = [];
  const report = createReport({ write: (line) => void lines.push(line), terminal, clock });
  const built = Promise.withResolvers<void>();
  const step = report.step('building', async (note) => {
    note('etcd');
    await built.promise;
  });
  await clock.advance(20 * 60_000);
  built.resolve();
  await step;
  expect(clock.pending).toBe(0);
  return lines;
}

test('in a log, a step has a line at its start, one a minute and one at its end', async () => {
  const lines = await linesOfALongStep(false);
  expect(lines).toHaveLength(22);
  expect(lines[0]).toBe('   0.0 s  building …\n');
  expect(lines[1]).toBe('  60.0 s    still: building (etcd), 60.0 s\n');
  expect(lines.at(-1)).toBe('1200.0 s    done in 1200.0 s\n');
});

test('at a terminal, a step has a line every five seconds', async () => {
  expect(await linesOfALongStep(true)).toHaveLength(242);
});
