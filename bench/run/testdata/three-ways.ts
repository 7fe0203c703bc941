/**
 * A benchmark for bench.test.ts. `--way` makes it work, leave a timer open, fail in one of two ways, or keep a folder
 * and a child process until it gets a signal.
 */
import { bench } from '../bench.ts';
import { WrongFlag } from '../flags.ts';
import { outcomeOf } from '../program.ts';

await bench(
  {
    name: 'bench:three-ways',
    measures: 'Itself.',
    options: { way: { kind: 'text', help: 'work, leave, throw, fail or wait' } },
  },
  async ({ flags, runs, reporter, say, fail, folder, atEnd }) => {
    const path = folder();
    if (!['work', 'leave', 'throw', 'fail', 'wait'].includes(flags.way)) throw new WrongFlag(`--way is ${flags.way}`);
    if (flags.way === 'leave') setInterval(() => {}, 1_000);
    if (flags.way === 'throw') throw new Error('out of luck');
    if (flags.way === 'fail') fail('two answers differ');
    if (flags.way === 'wait') {
      const child = outcomeOf([process.execPath, '-e', 'console.error(process.pid); setInterval(() => {}, 1000)'], {
        atEnd,
      });
      say(path);
      await child;
    }
    reporter({ cores: 'one', caches: 'warm' })({ name: 'own', unit: 's', ours: Array(runs).fill(1) });
  },
);
