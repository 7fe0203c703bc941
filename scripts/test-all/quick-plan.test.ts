import { quickPlan } from './quick-plan.ts';

const names = (...changed: string[]): string[] => quickPlan(changed).flatMap((lane) => lane.map(({ name }) => name));
const unit = 'unit tests of what changed';

test('nothing is run where nothing changed', () => {
  expect(names()).toEqual([]);
});

test('a document is only looked at for its format', () => {
  expect(names('docs/guides/install.md')).toEqual(['format']);
});

test('a source is formatted, linted and typed, and the tests that import it run', () => {
  const plan = quickPlan(['src/base/clock.ts']);
  expect(plan.map((lane) => lane.map(({ name }) => name))).toEqual([
    [unit],
    ['format', 'types and lint', 'generated files are current'],
  ]);
  expect(plan[0]![0]!.command.slice(-2)).toEqual(['--findRelatedTests', 'src/base/clock.ts']);
  expect(plan[1]![1]!.command.slice(-2)).toEqual(['--only', 'src/base/clock.ts']);
});

test('an e2e test is formatted, linted and typed, not run', () => {
  expect(names('e2e/demo/demo.ts')).toEqual(['format', 'types and lint']);
});

test('a file that is generated is compared with its sources', () => {
  expect(names('crds/svc.dev_trafficmonitors.yaml')).toEqual(['format', 'generated files are current']);
});

test('a dependency that changed is a matter of types', () => {
  expect(names('package-lock.json')).toEqual(['format', 'types and lint']);
});
