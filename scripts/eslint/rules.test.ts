import { Linter } from 'eslint';
import type { Rule } from 'eslint';
import { testRules } from './index.js';

const assertsOnEveryPath = testRules.rules['asserts-on-every-path'];
const loopsThatRun = testRules.rules['loops-that-run'];
const fixedDateBesideRealClock = testRules.rules['fixed-date-beside-real-clock'];

/** The ids of the messages that a rule reports for a file. */
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
  ])('accepts %s', (_what, code) => {
    expect(reports(assertsOnEveryPath, code)).toEqual([]);
  });

  test.each<[what: string, code: string]>([
    ['a test without an assertion', `test('a', () => { run(); });`],
    ['an expression without an assertion', `test('a', () => run());`],
    ['an assertion in one branch', `test('a', () => { if (x) expect(1).toBe(1); });`],
    ['an assertion only in catch', `test('a', () => { try { f(); } catch (e) { expect(e).toBe(1); } });`],
    ['an assertion only in a listener', `test('a', () => { server.on('request', () => expect(1).toBe(1)); });`],
    ['a switch that may match nothing', `test('a', () => { switch (x) { case 1: expect(1).toBe(1); } });`],
    ['a short circuit', `test('a', () => { x && expect(1).toBe(1); });`],
    ['a table test without an assertion', `test.each([[1]])('a', (x) => { run(x); });`],
    ['a test with a need and without an assertion', `needing(root).test('a', () => { run(); });`],
    ['a helper of the file that does not assert', `function same() {} test('a', () => { same(1); });`],
  ])('reports %s', (_what, code) => {
    expect(reports(assertsOnEveryPath, code)).toEqual(['none']);
  });

  test('reports a return before the first assertion', () => {
    const code = `test('a', () => { if (!dir) return void log('skipped'); expect(1).toBe(1); });`;
    expect(reports(assertsOnEveryPath, code)).toEqual(['early']);
  });
});

describe('loops-that-run', () => {
  test.each<[what: string, code: string]>([
    ['a loop over a literal', `test('a', () => { for (const x of [1, 2]) expect(x).toBe(1); });`],
    ['a const of literals', `const all = [1] as const; test('a', () => { for (const x of all) expect(x).toBe(1); });`],
    ['the keys of a literal', `test('a', () => { for (const x of Object.keys({ a: 1 })) expect(x).toBe(1); });`],
    ['a mapped literal', `test('a', () => [1].map(f).forEach((x) => expect(x).toBe(1)));`],
    ['a fixed number of turns', `const n = 3; test('a', () => { for (let i = 0; i < n; i++) expect(i).toBe(1); });`],
    ['an array of fixed length', `test('a', () => { for (const x of Array.from({ length: 3 })) expect(x).toBe(1); });`],
    [
      'lists of a table',
      `test.each([['a', [1]], ['b', [2]]])('a', (_, l) => { for (const x of l) expect(x).toBe(1); });`,
    ],
    [
      'rows of a table',
      `test('a', () => { for (const [, l] of [['a', [1]]]) for (const x of l) expect(x).toBe(1); });`,
    ],
    [
      'a list whose length was asserted',
      `test('a', () => { expect(l).toHaveLength(2); for (const x of l) expect(x).toBe(1); });`,
    ],
    [
      'a list whose length was asserted to be above zero',
      `test('a', () => { expect(l.length).toBeGreaterThan(0); for (const x of l) expect(x).toBe(1); });`,
    ],
    [
      'a map whose size was asserted',
      `test('a', () => { expect(m.size).toBe(2); for (const x of m.values()) expect(x).toBe(1); });`,
    ],
    [
      'a list that was asserted not to be empty',
      `test('a', () => { expect(l).not.toEqual([]); for (const x of l) expect(x).toBe(1); });`,
    ],
    ['an error if empty', `test('a', () => { if (l.length === 0) throw e; for (const x of l) expect(x).toBe(1); });`],
    [
      'a loop whose turns are counted and asserted',
      `test('a', () => { let n = 0; for (const x of l) { n++; expect(x).toBe(1); } expect(n).toBe(5); });`,
    ],
    ['a number of assertions', `test('a', () => { expect.assertions(2); for (const x of l) expect(x).toBe(1); });`],
    ['a loop that asserts nothing', `test('a', () => { for (const x of l) run(x); expect(1).toBe(1); });`],
    ['a loop in a hook', `afterEach(async () => { for (const x of opened) await waitForEnd(x); });`],
  ])('accepts %s', (_what, code) => {
    expect(reports(loopsThatRun, code.replace(' as const', ''))).toEqual([]);
  });

  test.each<[what: string, code: string]>([
    ['a list from elsewhere', `test('a', () => { for (const x of l) expect(x).toBe(1); });`],
    ['a filtered literal', `const l = [1].filter(f); test('a', () => { for (const x of l) expect(x).toBe(1); });`],
    ['an empty literal', `test('a', () => { for (const x of []) expect(x).toBe(1); });`],
    [
      'a list that is filled later',
      `test('a', () => { const l = []; run(l); for (const x of l) expect(x).toBe(1); });`,
    ],
    ['a callback for each', `test('a', () => l.forEach((x) => expect(x).toBe(1)));`],
    ['a count from elsewhere', `test('a', () => { for (let i = 0; i < l.length; i++) expect(l[i]).toBe(1); });`],
    [
      'an empty row of a table',
      `test.each([['a', [1]], ['b', []]])('a', (_, l) => { for (const x of l) expect(x).toBe(1); });`,
    ],
    [
      'a list that was only asserted to be defined',
      `test('a', () => { expect(l).toBeDefined(); for (const x of l) expect(x).toBe(1); });`,
    ],
    [
      'an empty list of problems',
      `test('a', () => { const p = []; for (const x of l) { p.push(x); expect(x).toBe(1); } expect(p).toEqual([]); });`,
    ],
    [
      'a helper that asserts on one element',
      `const is = (x) => expect(x).toBe(1); test('a', () => { for (const x of l) is(x); });`,
    ],
    ['tests that a loop declares', `for (const x of l) test('a', () => { expect(x).toBe(1); });`],
    ['a loop in a helper of the file', `function all(l) { for (const x of l) expect(x).toBe(1); }`],
  ])('reports %s', (_what, code) => {
    expect(reports(loopsThatRun, code)).toEqual(['empty']);
  });
});

describe('fixed-date-beside-real-clock', () => {
  test.each<[what: string, code: string]>([
    ['a fixed date alone', `const end = Date.UTC(2026, 0, 1);`],
    ['a real clock alone', `const now = Date.now(); open({ clock: systemClock });`],
    ['a clock of the data’s date', `const end = Date.UTC(2026, 0, 1); open({ clock: new ShiftedClock(end) });`],
    ['recorded data beside a fake clock', `import { p } from './open-metrics.ts'; startQueryStage({ nodes, clock });`],
    ['a clock with only real timers', `const e = 1_700_000_000_000; open({ ...systemClock, now: () => e });`],
    ['a large number that is not a date', `const max = 4_294_967_296; Date.now();`],
  ])('accepts %s', (_what, code) => {
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
