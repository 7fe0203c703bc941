import { skipNote } from '../../src/testing/needs.ts';
import {
  add,
  failureLines,
  judgeInCi,
  lastLines,
  readAllowedSkips,
  slowestLines,
  suitesToRepeat,
  suiteTimes,
  tallyOfCommand,
  tallyOfJest,
  withSecondLook,
} from './tally.ts';
import type { JestReport } from './tally.ts';

const report = (...tests: readonly (readonly [fullName: string, status: string])[]): JestReport => ({
  numPassedTests: tests.filter(([, status]) => status === 'passed').length,
  numFailedTests: tests.filter(([, status]) => status === 'failed').length,
  numRuntimeErrorTestSuites: 0,
  testResults: [
    {
      name: '/repo/src/a.test.ts',
      startTime: 1_000,
      endTime: 3_500,
      status: tests.some(([, status]) => status === 'failed') ? 'failed' : 'passed',
      assertionResults: tests.map(([fullName, status]) => ({ fullName, status })),
    },
  ],
});
const page = `the page ${skipNote('browser', 'no Chromium')} shows a graph`;
const project = `a mint ${skipNote('real-project', 'no organisation')} is granted`;

test('a skipped test is neither passed nor failed, and is listed with its reason above the last line', () => {
  const tally = add(tallyOfCommand(0), tallyOfJest(report(['a', 'passed'], [page, 'pending']), 0));
  expect(lastLines(tally, [])).toEqual([
    'skipped: the page shows a graph: needs browser: no Chromium',
    '2 passed, 0 failed, 1 skipped',
  ]);
});

test('a skip that does not say why, or a test that is only planned, is listed as such', () => {
  const { skipped } = tallyOfJest(report(['a', 'pending'], ['b', 'todo']), 0);
  expect(skipped).toEqual([
    { title: 'a', need: '', reason: 'no reason given (pending)' },
    { title: 'b', need: '', reason: 'no reason given (todo)' },
  ]);
});

test('in CI every skip is a failure unless the list of allowed skips names its need', () => {
  const allowed = readAllowedSkips('# why\n\nreal-project: an App of our own\n');
  const { tally, refused } = judgeInCi(
    tallyOfJest(report(['a', 'passed'], [page, 'pending'], [project, 'pending'], ['b', 'pending']), 0),
    allowed,
  );
  expect(lastLines(tally, refused)).toEqual([
    'skipped: a mint is granted: needs real-project: no organisation',
    'failed, because CI may not skip it: the page shows a graph: needs browser: no Chromium',
    'failed, because CI may not skip it: b: no reason given (pending)',
    '1 passed, 2 failed, 1 skipped',
  ]);
});

test('a line of the list of allowed skips that has no reason is refused', () => {
  expect(() => readAllowedSkips('browser:\n')).toThrow('"browser:" is not "name: reason"');
});

test('a run that ends with an error though no test failed, or that leaves no report, is one failure', () => {
  expect(tallyOfJest(report(['a', 'passed']), 1)).toMatchObject({ passed: 1, failed: 1 });
  expect(tallyOfJest(undefined, 0)).toMatchObject({ passed: 0, failed: 1 });
  expect(tallyOfJest({ ...report(), numRuntimeErrorTestSuites: 2 }, 1)).toMatchObject({ failed: 2 });
});

test('the ten slowest suites are listed, slowest first, with their paths in the checkout', () => {
  const times = suiteTimes(report(['a', 'passed']));
  expect(times).toEqual([{ file: '/repo/src/a.test.ts', seconds: 2.5 }]);
  const many = Array.from({ length: 11 }, (_, i) => ({ file: `/repo/e2e/${i}.e2e.ts`, seconds: i / 2 }));
  const lines = slowestLines([...times, ...many], '/repo/');
  expect(lines).toHaveLength(11);
  expect(lines.slice(0, 3)).toEqual(['the slowest suites:', '    5.0 s  e2e/10.e2e.ts', '    4.5 s  e2e/9.e2e.ts']);
  expect(lines).toContain('    2.5 s  src/a.test.ts');
  expect(lines).not.toContain('    0.0 s  e2e/0.e2e.ts');
});

test('a run without a report, and a suite that could not start, have no times', () => {
  const [suite] = report().testResults;
  const failed = { ...report(), testResults: [{ ...suite!, startTime: 0, endTime: 0 }] };
  expect([suiteTimes(undefined), suiteTimes(failed), slowestLines([], '/repo/')]).toEqual([[], [], []]);
});

const suites = (...reports: readonly JestReport[]): JestReport => ({
  numPassedTests: reports.reduce((sum, { numPassedTests }) => sum + numPassedTests, 0),
  numFailedTests: reports.reduce((sum, { numFailedTests }) => sum + numFailedTests, 0),
  numRuntimeErrorTestSuites: 0,
  testResults: reports.flatMap(({ testResults }, index) =>
    testResults.map((suite) => ({ ...suite, name: `/repo/src/${index}.test.ts` })),
  ),
});

test('a failure that does not repeat in a second run counts as passed and is listed as unstable', () => {
  const first = suites(report(['a', 'passed'], ['b', 'failed']), report(['c', 'passed']));
  expect(suitesToRepeat(first)).toEqual(['/repo/src/0.test.ts']);
  const both = withSecondLook(first, suites(report(['a', 'passed'], ['b', 'passed'])));
  expect(tallyOfJest(both, 0)).toMatchObject({ passed: 3, failed: 0 });
  expect(failureLines(both, '/repo/')).toEqual([]);
  expect(lastLines(tallyOfJest(both, 0), [], { failed: [], unstable: failureLines(first, '/repo/') })).toEqual([
    'unstable, passed when run again: src/0.test.ts: b',
    '3 passed, 0 failed, 0 skipped',
  ]);
});

test('a failure that repeats stays a failure, and is listed above the last line', () => {
  const first = suites(report(['a', 'passed'], ['b', 'failed']), report(['c', 'passed']));
  const both = withSecondLook(first, suites(report(['a', 'passed'], ['b', 'failed'])));
  expect(lastLines(tallyOfJest(both, 1), [], { failed: failureLines(both, '/repo/'), unstable: [] })).toEqual([
    'failed: src/0.test.ts: b',
    '2 passed, 1 failed, 0 skipped',
  ]);
});

test('a suite that could not start in either run is one failure', () => {
  const broken = { ...report().testResults[0]!, status: 'failed' };
  const first: JestReport = { ...report(), numRuntimeErrorTestSuites: 1, testResults: [broken] };
  const both = withSecondLook(first, first);
  expect(tallyOfJest(both, 1)).toMatchObject({ passed: 0, failed: 1 });
  expect(failureLines(both, '/repo/')).toEqual(['src/a.test.ts: could not run']);
});

test('when more than five suites fail none of them runs again', () => {
  const failing = report(['a', 'failed']);
  expect(suitesToRepeat(suites(...Array.from({ length: 5 }, () => failing)))).toHaveLength(5);
  expect(suitesToRepeat(suites(...Array.from({ length: 6 }, () => failing)))).toEqual([]);
});
