/** Compares a run of the PromQL conformance data with the results on record, case by case. Pure. */

export interface Score {
  passed: number;
  total: number;
}

export interface Scores {
  promqltest: Score;
  goldens: Score;
  compliance: Score;
  /** One line for each failing case, sorted. A case that is in the data twice may be listed twice. */
  failing: string[];
}

/**
 * The differences from the record, one sentence each; empty when every case has its recorded result. A case that passes
 * but is on record as failing is a difference, too: otherwise its next failure would go unnoticed.
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

/** The lines of `all` without those of `taken`; each line of `taken` removes one equal line at most. */
function without(all: readonly string[], taken: readonly string[]): string[] {
  const left = [...taken];
  return all.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
