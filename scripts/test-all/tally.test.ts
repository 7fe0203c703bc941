import { skipNote } from '../../src/testing/needs.ts';
import {
  add,
  judgeInCi,
  lastLines,
  readAllowedSkips,
  slowestLines,
  suiteTimes,
  tallyOfCommand,
  tallyOfJest,
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

test('in CI every skip is a failure but those on the written list', () => {
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

test('a line of the list without a reason is refused', () => {
  expect(() => readAllowedSkips('browser:\n')).toThrow('"browser:" is not "name: reason"');
});

test('a run that ends with an error though no test failed, or that leaves no report, is one failure', () => {
  expect(tallyOfJest(report(['a', 'passed']), 1)).toMatchObject({ passed: 1, failed: 1 });
  expect(tallyOfJest(undefined, 0)).toMatchObject({ passed: 0, failed: 1 });
  expect(tallyOfJest({ ...report(), numRuntimeErrorTestSuites: 2 }, 1)).toMatchObject({ failed: 2 });
});

test('the ten slowest suites are listed, slowest first, by their file in the checkout', () => {
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
