import { readFileSync, readdirSync } from 'node:fs';
import { ParseError, parse } from '../../src/promql/index.ts';
import { Random } from '../../src/testing/promql/random.ts';
import { randomExpression } from '../../src/testing/promql/random-expression.ts';
import { parseTestScript } from '../../src/testing/promql/test-script.ts';
import { end, start } from './data.ts';
import { median, report } from './report.ts';

const features = { experimentalFunctions: true, extendedRangeSelectors: true, fillModifiers: true };

/** Every query of the conformance data in DIR, each once; random expressions without a DIR. */
function texts(dir: string | undefined): readonly string[] {
  if (dir === undefined) {
    const random = new Random(1);
    const scope = { histograms: true, experimental: true, start, end };
    return Array.from({ length: 2_208 }, () => randomExpression(random, scope));
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

/** Parses all texts; those that are refused count too, being told what is wrong is part of the work. */
export function parsing(dir: string | undefined, runs: number): void {
  const parsed = texts(dir);
  const times: number[] = [];
  let refused = 0;
  for (let i = 0; i < runs + 3; i++) {
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
  report(`parse/${parsed.length}-queries-${refused}-refused/first`, 'ms', times[0]!, null, null);
  report(`parse/${parsed.length}-queries-${refused}-refused/median`, 'ms', median(times.slice(3)), null, null);
}
