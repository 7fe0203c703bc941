import { quickPlan } from './quick-plan.ts';

const stepsOf = (lanes: ReturnType<typeof quickPlan>): string[] => lanes.flat().map(({ name }) => name);
const names = (...changed: string[]): string[] => stepsOf(quickPlan(changed));
const unit = 'unit tests of what changed';

test('nothing runs if nothing changed', () => {
  expect(names()).toEqual([]);
});

test('a document is only checked for its format', () => {
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

test.each(['crds/svc.dev_trafficmonitors.yaml', 'docs/reference/openapi.yaml', 'surface/runtime.txt'])(
  '%s is generated, so it is compared with its sources',
  (file) => {
    expect(names(file)).toEqual(['format', 'generated files are current']);
  },
);

test('a component of the page is tested, formatted, linted and typed', () => {
  expect(names('ui/views/nodes.tsx')).toEqual([unit, 'format', 'types and lint']);
});

test('importers of a removed source are type-checked, and a removed generated file is compared', () => {
  expect(stepsOf(quickPlan([], ['e2e/demo/demo.ts']))).toEqual(['types and lint']);
  expect(stepsOf(quickPlan([], ['crds/svc.dev_trafficmonitors.yaml']))).toEqual(['generated files are current']);
});

test('after a change of the dependencies, formats and types are checked', () => {
  expect(names('package-lock.json')).toEqual(['format', 'types and lint']);
});
