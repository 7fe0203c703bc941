/** Counts the tests of the steps of `make test`, and judges skips in CI. Pure. */
import { readSkipNote } from '../../src/testing/needs.ts';

/** A test that did not run. */
export interface Skip {
  /** Its full title. */
  readonly title: string;
  /** Name of what is missing, as in `.ci/allowed-skips`; empty if the test does not name it. */
  readonly need: string;
  readonly reason: string;
}

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly Skip[];
}

/** The members of Jest's JSON report that are counted. */
export interface JestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    /** The file of the suite. */
    readonly name: string;
    /** Milliseconds since the epoch. */
    readonly startTime: number;
    readonly endTime: number;
    /** `failed` also where the suite could not start. */
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** The tally of a step that counts as one test, which passed if the step ended with 0. */
export function tallyOfCommand(code: number): Tally {
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: [] };
}

/**
 * The tally of a run of Jest. These count as one failure each: a suite that could not start, a run that ended with an
 * error though no test failed, and a run without a report (`undefined`).
 */
export function tallyOfJest(report: JestReport | undefined, code: number): Tally {
  if (report === undefined) return { passed: 0, failed: 1, skipped: [] };
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  const skipped = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status !== 'passed' && status !== 'failed').map(skipOf),
  );
  return { passed: report.numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed, skipped };
}

type Suite = JestReport['testResults'][number];

/** At most this many suites of a step run twice: if more fail, the cause is the change rather than chance. */
const SUITES_LOOKED_AT_TWICE = 5;

/** The files of the failed suites; empty if they are too many to run again. */
export function suitesToRepeat(report: JestReport | undefined): string[] {
  const failed = (report?.testResults ?? []).filter(({ status }) => status === 'failed').map(({ name }) => name);
  return failed.length <= SUITES_LOOKED_AT_TWICE ? failed : [];
}

/** The report of the first run, in which each repeated suite has its second result. */
export function withSecondLook(first: JestReport, second: JestReport): JestReport {
  const again = new Map(second.testResults.map((suite) => [suite.name, suite]));
  const testResults = first.testResults.map((suite) => again.get(suite.name) ?? suite);
  return { testResults, ...counts(testResults) };
}

function counts(suites: readonly Suite[]): Omit<JestReport, 'testResults'> {
  const tests = suites.flatMap(({ assertionResults }) => assertionResults);
  const broken = suites.filter((suite) => suite.status === 'failed' && failedTests(suite).length === 0);
  return {
    numPassedTests: tests.filter(({ status }) => status === 'passed').length,
    numFailedTests: tests.filter(({ status }) => status === 'failed').length,
    numRuntimeErrorTestSuites: broken.length,
  };
}

function failedTests({ assertionResults }: Suite): string[] {
  return assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
}

/** A line for each test that failed, and for each suite that could not start; their files below `root`. */
export function failureLines(report: JestReport | undefined, root: string): string[] {
  return (report?.testResults ?? [])
    .filter(({ status }) => status === 'failed')
    .flatMap((suite) => {
      const file = below(root, suite.name);
      const titles = failedTests(suite);
      return titles.length > 0 ? titles.map((title) => `${file}: ${title}`) : [`${file}: could not run`];
    });
}

function below(root: string, file: string): string {
  return file.startsWith(root) ? file.slice(root.length) : file;
}

function skipOf({ fullName, status }: { fullName: string; status: string }): Skip {
  const note = readSkipNote(fullName);
  if (!note) return { title: fullName, need: '', reason: `no reason given (${status})` };
  return { title: note.rest, need: note.name, reason: note.reason };
}

export function add(a: Tally, b: Tally): Tally {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: [...a.skipped, ...b.skipped] };
}

/**
 * The needs whose tests CI may skip, each with its reason.
 * Shape: one line `name: reason` for each need; empty lines and lines that begin with # are left out.
 * Errors: names a line without a reason.
 */
export function readAllowedSkips(text: string): ReadonlyMap<string, string> {
  const allowed = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const found = /^([^\s:]+): *(\S.*)$/.exec(line);
    if (!found) throw new Error(`.ci/allowed-skips: "${line}" is not "name: reason"`);
    allowed.set(found[1]!, found[2]!);
  }
  return allowed;
}

/** In CI a skip is a failure unless its need is on the written list. */
export function judgeInCi(tally: Tally, allowed: ReadonlyMap<string, string>): { tally: Tally; refused: Skip[] } {
  const refused = tally.skipped.filter(({ need }) => !allowed.has(need));
  const skipped = tally.skipped.filter(({ need }) => allowed.has(need));
  return { tally: { passed: tally.passed, failed: tally.failed + refused.length, skipped }, refused };
}

/** How long a suite took. */
export interface SuiteTime {
  readonly file: string;
  readonly seconds: number;
}

/** The time of every suite of a run; a suite that could not start has none. */
export function suiteTimes(report: JestReport | undefined): SuiteTime[] {
  const ran = (report?.testResults ?? []).filter(({ startTime, endTime }) => startTime > 0 && endTime >= startTime);
  return ran.map(({ name, startTime, endTime }) => ({ file: name, seconds: (endTime - startTime) / 1000 }));
}

/** The ten slowest suites, slowest first, their files below `root`; empty where none ran. */
export function slowestLines(times: readonly SuiteTime[], root: string): string[] {
  const slowest = times.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10);
  if (slowest.length === 0) return [];
  const line = ({ file, seconds }: SuiteTime): string => `${seconds.toFixed(1).padStart(7)} s  ${below(root, file)}`;
  return ['the slowest suites:', ...slowest.map(line)];
}

/** Remarks on the tests in addition to their counts. */
export interface Remarks {
  /** A line for each failure. */
  readonly failed: readonly string[];
  /** A line for each failure that a second run of its suite did not repeat. */
  readonly unstable: readonly string[];
}

/**
 * The last lines of a run: every skip with its reason, unstable and failed tests, then the line of counts that CI
 * reads.
 */
export function lastLines(
  tally: Tally,
  refused: readonly Skip[],
  remarks: Remarks = { failed: [], unstable: [] },
): string[] {
  return [
    ...tally.skipped.map((skip) => `skipped: ${sentence(skip)}`),
    ...refused.map((skip) => `failed, because CI may not skip it: ${sentence(skip)}`),
    ...remarks.unstable.map((line) => `unstable, passed when run again: ${line}`),
    ...remarks.failed.map((line) => `failed: ${line}`),
    `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped.length} skipped`,
  ];
}

function sentence({ title, need, reason }: Skip): string {
  return need === '' ? `${title}: ${reason}` : `${title}: needs ${need}: ${reason}`;
}
