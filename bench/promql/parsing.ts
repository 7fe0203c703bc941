import { readFileSync, readdirSync } from 'node:fs';
import { ParseError, parse } from '../../src/promql/index.ts';
import { Random } from '../../src/testing/promql/random.ts';
import { randomExpression } from '../../src/testing/promql/random-expression.ts';
import { parseTestScript } from '../../src/testing/promql/test-script.ts';
import type { Stage } from '../run/bench.ts';
import { allCores } from '../run/cores.ts';
import { end, start } from './data.ts';

const features = { experimentalFunctions: true, extendedRangeSelectors: true, fillModifiers: true };

/** Every query of the conformance data in `dir`, each once; without `dir`, `count` random expressions. */
function texts(dir: string | undefined, count: number): readonly string[] {
  if (dir === undefined) {
    const random = new Random(1);
    const scope = { histograms: true, experimental: true, start, end };
    return Array.from({ length: count }, () => randomExpression(random, scope));
  }
  const found = new Set<string>();
  for (const name of readdirSync(`${dir}/compliance`)) {
    if (!name.endsWith('.expanded.json')) continue;
    const queries = JSON.parse(readFileSync(`${dir}/compliance/${name}`, 'utf8')) as { query: string }[];
    for (const { query } of queries) found.add(query);
  }
  for (const name of readdirSync(`${dir}/promqltest`)) {
    if (!name.endsWith('.test')) continue;
    for (const command of parseTestScript(readFileSync(`${dir}/promqltest/${name}`, 'utf8'))) {
      if (command.kind === 'eval') found.add(command.query);
    }
  }
  return [...found];
}

/** Uncounted rounds at the start, in which V8 compiles the parser. */
const warmRounds = 3;

/** Times the parsing of all queries. Refused queries count too: making the error message is part of the work. */
export function parsing({ runs, say, reporter }: Stage, dir: string | undefined, count: number): void {
  const parsed = texts(dir, count);
  const times: number[] = [];
  let refused = 0;
  for (let i = 0; i < warmRounds + runs; i++) {
    refused = 0;
    const before = performance.now();
    for (const text of parsed) {
      try {
        parse(text, features);
      } catch (error) {
        if (!(error instanceof ParseError)) throw error;
        refused++;
      }
    }
    times.push(performance.now() - before);
  }
  say(`parsing: ${parsed.length} queries, of which ${refused} are refused`);
  const report = reporter({
    cores: allCores('the parser, in the process of the benchmark'),
    caches: `warm: behind ${warmRounds} rounds of the same texts`,
  });
  const source = dir === undefined ? 'random-expressions' : 'conformance-queries';
  report({ name: `parse/${parsed.length}-${source}`, unit: 'ms', ours: times.slice(warmRounds) });
}
