/** Compares a run of the PromQL conformance data with the results on record, case by case. Pure. */

export interface Score {
  passed: number;
  total: number;
}

export interface Scores {
  promqltest: Score;
  goldens: Score;
  compliance: Score;
  /** One line for each case that fails, sorted; a case that is in the data twice may be here twice. */
  failing: string[];
}

/**
 * What differs from the record, a sentence each; empty where every case has its recorded result. A case that passes but
 * is on record as failing differs, too: left on record, its next failure would go unnoticed.
 */
export function differences(recorded: Scores, now: Scores): string[] {
  const found: string[] = [];
  for (const name of ['promqltest', 'goldens', 'compliance'] as const) {
    if (now[name].total !== recorded[name].total) {
      found.push(`${name}: ${now[name].total} cases, ${recorded[name].total} on record`);
    }
  }
  for (const line of without(now.failing, recorded.failing)) found.push(`newly failing: ${line}`);
  for (const line of without(recorded.failing, now.failing)) found.push(`on record as failing, but did not: ${line}`);
  return found;
}

/** The lines of `all` without those of `taken`; of equal lines, as many are removed as `taken` has. */
function without(all: readonly string[], taken: readonly string[]): string[] {
  const left = [...taken];
  return all.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
