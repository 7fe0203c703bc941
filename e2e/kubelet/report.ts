import type { JestReport } from '../../scripts/test-all/tally.ts';

/** How a check ended. Times in ms since the epoch. */
export interface Outcome {
  readonly group: string;
  readonly what: string;
  readonly passed: boolean;
  readonly startTime: number;
  readonly endTime: number;
}

/** The outcomes as a Jest report, each group as a suite, so that `make test` counts the checks with the Jest tests. */
export function reportOf(outcomes: readonly Outcome[]): JestReport {
  const groups = [...new Set(outcomes.map(({ group }) => group))];
  const failed = outcomes.filter(({ passed }) => !passed).length;
  return {
    numPassedTests: outcomes.length - failed,
    numFailedTests: failed,
    numRuntimeErrorTestSuites: 0,
    testResults: groups.map((name) => {
      const own = outcomes.filter(({ group }) => group === name);
      return {
        name,
        startTime: own[0]!.startTime,
        endTime: own.at(-1)!.endTime,
        status: own.every(({ passed }) => passed) ? 'passed' : 'failed',
        assertionResults: own.map(({ what, passed }) => ({ fullName: what, status: passed ? 'passed' : 'failed' })),
      };
    }),
  };
}
