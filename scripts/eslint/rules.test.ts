import { Linter } from 'eslint';
import type { Rule } from 'eslint';
import { testRules } from './index.js';

const assertsOnEveryPath = testRules.rules['asserts-on-every-path'];
const fixedDateBesideRealClock = testRules.rules['fixed-date-beside-real-clock'];

/** What a rule says of a file: the id of each message. */
function reports(rule: Rule.RuleModule, code: string): (string | undefined)[] {
  const messages = new Linter().verify(code, [
    { plugins: { tests: { rules: { rule } } }, rules: { 'tests/rule': 'error' } },
  ]);
  return messages.map(({ messageId, message }) => messageId ?? message);
}

describe('asserts-on-every-path', () => {
  test.each<[what: string, code: string]>([
    ['an expectation', `test('a', () => { expect(1).toBe(1); });`],
    ['an awaited condition', `test('a', async () => { await until(() => done, 'it'); });`],
    ['an awaited condition of a stage', `test('a', () => stage.until(path, 'Ready'));`],
    ['a helper of the file that asserts', `const same = (a) => { expect(a).toBe(1); }; test('a', () => { same(1); });`],
    ['a callback that is called', `test('a', () => Promise.all(all.map((one) => expect(one).toBe(1))));`],
    ['both branches', `test('a', () => { if (x) expect(1).toBe(1); else throw new Error('no'); });`],
    ['a loop over cases', `test.each(rows)('a', (row) => { for (const r of row) expect(r).toBe(1); });`],
    ['a return after the first assertion', `test('a', () => { expect(1).toBe(1); if (x) return; more(); });`],
    ['an error that has to come', `test('a', async () => { await expect(f()).rejects.toThrow(); });`],
  ])('takes %s', (_what, code) => {
    expect(reports(assertsOnEveryPath, code)).toEqual([]);
  });

  test.each<[what: string, code: string]>([
    ['a test without one', `test('a', () => { run(); });`],
    ['an expression without one', `test('a', () => run());`],
    ['an assertion in one branch', `test('a', () => { if (x) expect(1).toBe(1); });`],
    ['an assertion in catch alone', `test('a', () => { try { f(); } catch (e) { expect(e).toBe(1); } });`],
    ['an assertion in a listener alone', `test('a', () => { server.on('request', () => expect(1).toBe(1)); });`],
    ['a switch that may match nothing', `test('a', () => { switch (x) { case 1: expect(1).toBe(1); } });`],
    ['a short circuit', `test('a', () => { x && expect(1).toBe(1); });`],
    ['a table', `test.each([[1]])('a', (x) => { run(x); });`],
    ['a test with a need', `needing(root).test('a', () => { run(); });`],
    ['a helper of the file that does not assert', `function same() {} test('a', () => { same(1); });`],
  ])('reports %s', (_what, code) => {
    expect(reports(assertsOnEveryPath, code)).toEqual(['none']);
  });

  test('reports a return before the first assertion', () => {
    const code = `test('a', () => { if (!dir) return void log('skipped'); expect(1).toBe(1); });`;
    expect(reports(assertsOnEveryPath, code)).toEqual(['early']);
  });
});

describe('fixed-date-beside-real-clock', () => {
  test.each<[what: string, code: string]>([
    ['a fixed date alone', `const end = Date.UTC(2026, 0, 1);`],
    ['a real clock alone', `const now = Date.now(); open({ clock: systemClock });`],
    ['a clock of the data’s date', `const end = Date.UTC(2026, 0, 1); open({ clock: new ShiftedClock(end) });`],
    ['a stage with a clock', `import { p } from './open-metrics.ts'; startQueryStage({ nodes, clock });`],
    ['a clock that takes the waiting alone', `const e = 1_700_000_000_000; open({ ...systemClock, now: () => e });`],
    ['a size', `const max = 4_294_967_296; Date.now();`],
  ])('takes %s', (_what, code) => {
    expect(reports(fixedDateBesideRealClock, code)).toEqual([]);
  });

  test.each<[what: string, code: string]>([
    ['a date beside the time of day', `const end = Date.UTC(2026, 0, 1); store.append(Date.now());`],
    [
      'a number of milliseconds beside the system clock',
      `const end = 1_767_225_600_000; open({ clock: systemClock });`,
    ],
    ['a date in words beside a new Date', `const end = Date.parse('2026-01-01T00:00:00Z'); at(new Date());`],
    ['a date beside a clock that starts now', `const end = new Date('2026-01-01'); at(new ShiftedClock());`],
    ['recorded data in a stage without a clock', `import { p } from './open-metrics.ts'; startQueryStage({ nodes });`],
  ])('reports %s', (_what, code) => {
    expect(reports(fixedDateBesideRealClock, code)).toEqual(['both']);
  });
});
