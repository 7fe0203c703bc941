import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';

/**
 * Runs a program that holds 40 MiB and makes eight times as much garbage, which lives long enough to reach the old
 * generation of V8's heap. Returns the peak of the heap, in MiB.
 */
function peakHeap(prepare: string): number {
  const program = `
    import { collectEarly } from ${JSON.stringify(import.meta.resolve('./memory.ts'))};
    ${prepare}
    const piece = () => Array.from({ length: 1_000 }, (_, i) => ({ i, text: 'x' + i }));
    const held = Array.from({ length: 400 }, piece);
    const recent = [];
    let peak = 0;
    for (let i = 0; i < 4_000; i++) {
      recent[i % 50] = piece();
      if (i % 10 === 0) peak = Math.max(peak, process.memoryUsage().heapTotal);
    }
    if (held.length !== 400) throw new Error();
    process.stdout.write(String(peak / 1048576));`;
  const args = [
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=4',
    '--input-type=module',
    '-e',
    program,
  ];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('early collection keeps a heap near its live size', () => {
  expect(peakHeap('collectEarly();')).toBeLessThan(0.75 * peakHeap(''));
});
