/**
 * Runs the benchmarks that docs/guides/benchmarks.md shows, keeps their figures in bench/tables/results.jsonl and
 * writes the guide's tables from them.
 */
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { exited, signalGroup, spawnBound } from '../../e2e/cluster/processes.ts';
import { bench, type Stage } from '../run/bench.ts';
import { common, WrongFlag } from '../run/flags.ts';
import { checkFigure, readResults, writeResults, type Result } from './results.ts';
import { commandOf, parts, type Part } from './parts.ts';
import { withTables } from './render.ts';

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const guide = path('../../docs/guides/benchmarks.md');
const kept = path('results.jsonl');

await bench(
  {
    name: 'bench:tables',
    measures:
      `The benchmarks that docs/guides/benchmarks.md shows; run them on an idle machine. As each part ends, its figures go\n` +
      `to bench/tables/results.jsonl and into the guide's tables; a part that fails keeps its earlier figures. Commit both\n` +
      `files. With --quick no figures are kept. Parts: ${parts.map(({ name }) => name).join(', ')}.`,
    options: {
      only: { kind: 'text', help: 'parts, comma-separated' },
      runs: { ...common.runs, help: "runs of each figure, if not each benchmark's own default" },
      write: { kind: 'switch', help: 'run nothing, write the tables from the file' },
    },
  },
  async (stage) => {
    const { flags, say, fail, quick, runs } = stage;
    const ownRuns = quick ? common.runs.quick : common.runs.value;
    const names = flags.only === '' ? parts.map(({ name }) => name) : flags.only.split(',');
    const unknown = names.find((name) => !parts.some((part) => part.name === name));
    if (unknown !== undefined) throw new WrongFlag(`--only names ${unknown}, which is no part: see --help`);
    const more = [...(quick ? ['--quick'] : []), ...(runs === ownRuns ? [] : [`--runs=${runs}`])];
    const began = performance.now();
    for (const part of flags.write ? [] : parts.filter(({ name }) => names.includes(name))) {
      say(`\n=== ${part.name}: ${commandOf(part)}`);
      const { result, code } = await run(part, more, stage);
      const seconds = Math.round((performance.now() - began) / 1000);
      say(`=== ${part.name}: ${result.figures.length} figures in ${result.run.seconds} s; ${seconds} s so far`);
      if (code !== 0 || result.figures.length === 0)
        fail(`${part.name} ended with ${code}: its figures stay as before`);
      else if (!quick) {
        keep(result);
        writeGuide();
      }
    }
    if (flags.write) writeGuide();
  },
);

async function run(part: Part, more: readonly string[], stage: Stage): Promise<{ result: Result; code: number }> {
  const script = scriptOf(part.script);
  const load = Math.round(loadavg()[0]! * 10) / 10;
  const at = new Date();
  const child = spawnBound([process.execPath, script, ...part.args, ...more], {
    run: `bench-tables-${process.pid}`,
    env: process.env as Record<string, string>,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stage.atEnd(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    signalGroup(child.pid!, 'SIGTERM');
    await exited(child);
  });
  let printed = '';
  child.stdout!.on('data', (text: Buffer) => (printed += text.toString()));
  await once(child, 'close');
  const figures = printed
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => checkFigure(JSON.parse(line) as Record<string, unknown>));
  const seconds = Math.round((Date.now() - at.getTime()) / 1000);
  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
  const line = {
    part: part.name,
    command: [commandOf(part), ...more].join(' '),
    at: at.toISOString(),
    seconds,
    load,
    machine,
  };
  return { result: { run: line, figures }, code: child.exitCode ?? 1 };
}

/** The file that an npm script of a benchmark runs. */
function scriptOf(name: string): string {
  const { scripts } = JSON.parse(readFileSync(path('../../package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const file = /^node (\S+\.ts)$/.exec(scripts[name] ?? '')?.[1];
  if (file === undefined) throw new Error(`package.json has no script ${name} that runs one file`);
  return path(`../../${file}`);
}

/** Keeps the results in the order of the guide, whichever part ran last. */
function keep(result: Result): void {
  const before = existsSync(kept) ? readResults(readFileSync(kept, 'utf8')) : [];
  const all = parts.flatMap(({ name }) =>
    name === result.run.part ? [result] : before.filter(({ run }) => run.part === name),
  );
  writeFileSync(kept, writeResults(all));
}

function writeGuide(): void {
  const results = existsSync(kept) ? readResults(readFileSync(kept, 'utf8')) : [];
  writeFileSync(guide, withTables(readFileSync(guide, 'utf8'), parts, results));
}
