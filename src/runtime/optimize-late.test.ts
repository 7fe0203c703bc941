import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';

/** Whether a function is V8's fully optimized code after so many calls. Source of the bit: V8's `OptimizationStatus`. */
function isOptimized(prepare: string, calls: number): boolean {
  const program = `
    import { optimizeLate } from ${JSON.stringify(import.meta.resolve('./optimize-late.ts'))};
    ${prepare}
    const mix = (x) => ({ x, y: Math.imul(x, 31) ^ (x >>> 3) });
    let last;
    for (let i = 0; i < ${calls}; i++) last = mix(i);
    process.stdout.write(String((%GetOptimizationStatus(mix) & (1 << 6)) !== 0));`;
  const args = [
    '--disable-warning=ExperimentalWarning',
    ...['--allow-natives-syntax', '--no-concurrent-recompilation', '--no-use-osr'],
    ...['--input-type=module', '-e', program],
  ];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }) === 'true';
}

test('what is called some thousand times is not optimized yet, what is called for each sample is', () => {
  expect(isOptimized('', 25_000)).toBe(true);
  expect(isOptimized('optimizeLate();', 25_000)).toBe(false);
  expect(isOptimized('optimizeLate();', 1_000_000)).toBe(true);
});
