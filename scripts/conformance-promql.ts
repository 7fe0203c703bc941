/**
 * Runs the cases of PromQL conformance data on our engine:
 *   node scripts/conformance-promql.ts --dir DIR [--update] [--only TEXT]
 * DIR holds promqltest/*.test, compliance/*.expanded.json, golden/*.golden.json.gz and input/*.om.gz.
 * Prints each failing case and ends with `promqltest: P/T passed` and `goldens: P/T identical`. The scores and the
 * failing cases are kept in src/promql/conformance-scores.json; exit 1 if a result differs from them.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { parse } from '../src/promql/index.ts';
import { differences, type Score, type Scores } from '../src/testing/promql/compare-scores.ts';
import { runGoldens, type GoldenFile } from '../src/testing/promql/goldens.ts';
import { MemorySource } from '../src/testing/promql/memory-source.ts';
import { parseOpenMetrics } from '../src/testing/promql/open-metrics.ts';
import { runTestScript } from '../src/testing/promql/run-test-script.ts';

const scoresFile = join(import.meta.dirname, '../src/promql/conformance-scores.json');
const { values: flags } = parseArgs({
  options: {
    dir: { type: 'string' },
    update: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});

async function main(): Promise<number> {
  if (flags.dir === undefined) {
    process.stderr.write('usage: conformance-promql --dir DIR [--update] [--only TEXT]\n');
    return 2;
  }
  const scores: Scores = {
    promqltest: { passed: 0, total: 0 },
    goldens: { passed: 0, total: 0 },
    compliance: { passed: 0, total: 0 },
    failing: [],
  };
  await runScripts(join(flags.dir, 'promqltest'), scores);
  await runGoldenFiles(flags.dir, scores);
  runCompliance(join(flags.dir, 'compliance'), scores);
  scores.failing.sort();
  const status = flags.only === undefined ? judge(scores) : 0;
  const { promqltest, goldens, compliance } = scores;
  console.log(`compliance: ${compliance.passed}/${compliance.total} valid queries accepted`);
  console.log(`promqltest: ${promqltest.passed}/${promqltest.total} passed`);
  console.log(`goldens: ${goldens.passed}/${goldens.total} identical`);
  return status;
}

/** True if the file's name contains the text of --only, or if --only is not given. */
function wanted(name: string): boolean {
  return flags.only === undefined || name.includes(flags.only);
}

function note(score: Score, scores: Scores, name: string, problem: string | null): void {
  score.total++;
  if (problem === null) {
    score.passed++;
    return;
  }
  scores.failing.push(name);
  console.log(`${name}\n    ${problem}`);
}

async function runScripts(dir: string, scores: Scores): Promise<void> {
  for (const file of readdirSync(dir)
    .filter((name) => name.endsWith('.test'))
    .sort()) {
    if (!wanted(file)) continue;
    const before = { ...scores.promqltest };
    for (const { line, query, problem } of await runTestScript(readFileSync(join(dir, file), 'utf8'))) {
      note(scores.promqltest, scores, `${file}:${line} ${query}`, problem);
    }
    const { passed, total } = scores.promqltest;
    console.log(`${file}: ${passed - before.passed}/${total - before.total}`);
  }
}

async function runGoldenFiles(dir: string, scores: Scores): Promise<void> {
  for (const file of readdirSync(join(dir, 'golden'))
    .filter((name) => name.endsWith('.json.gz'))
    .sort()) {
    if (!wanted(file)) continue;
    const golden = JSON.parse(unzip(join(dir, 'golden', file))) as GoldenFile;
    const source = new MemorySource();
    const input = join(dir, 'input', file.replace('.golden.json.gz', '.om.gz'));
    for (const { labels, samples } of parseOpenMetrics(unzip(input))) source.load(labels, samples);
    for (const { query, problem } of await runGoldens(golden, source)) {
      note(scores.goldens, scores, `${file} ${query}`, problem);
    }
  }
}

function runCompliance(dir: string, scores: Scores): void {
  for (const file of readdirSync(dir)
    .filter((name) => name.endsWith('.expanded.json'))
    .sort()) {
    if (!wanted(file)) continue;
    const queries = JSON.parse(readFileSync(join(dir, file), 'utf8')) as { query: string; should_fail?: boolean }[];
    for (const { query, should_fail: shouldFail } of queries) {
      // Some queries that must fail do so only while they run, which the goldens cover. All other queries must parse.
      if (shouldFail !== true) note(scores.compliance, scores, `${file} ${query}`, parseProblem(query));
    }
  }
}

function parseProblem(query: string): string | null {
  try {
    parse(query, { experimentalFunctions: true });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function unzip(path: string): string {
  return gunzipSync(readFileSync(path)).toString('utf8');
}

/** Compares with the recorded results, or records the new ones. */
function judge(scores: Scores): number {
  if (flags.update) {
    writeFileSync(scoresFile, `${JSON.stringify(scores, null, 2)}\n`);
    return 0;
  }
  const kept = JSON.parse(readFileSync(scoresFile, 'utf8')) as Scores;
  const found = differences(kept, scores);
  for (const line of found) console.log(line);
  if (found.length > 0) console.log('if this is right, record it with --update');
  return found.length > 0 ? 1 : 0;
}

process.exitCode = await main();
