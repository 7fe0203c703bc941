/**
 * Finds tests that fail at a later date, as they use data of a fixed date with the machine's clock. Retention, validity
 * and lookback depend on the distance between the two, which grows every day.
 *
 * A fixed date is `Date.UTC(2026, …)`, `new Date('2026-…')`, `Date.parse('2026-…')`, a time of this century as a number
 * of milliseconds, or recorded data (an import of `open-metrics.ts`). The machine's clock is `systemClock`,
 * `Date.now()`, `new Date()`, a `ShiftedClock` that starts now, or a query stage without a `clock`. If a file has both,
 * the rule reports the clock. It does not see dates in other files, except those of recorded data.
 */
const thisCentury = (value) =>
  typeof value === 'number' && value >= 1.4e12 && value < 4.2e12 && Number.isInteger(value);
const isYear = (node) => node?.type === 'Literal' && node.value >= 1990 && node.value < 2100;
const isDateText = (node) => node?.type === 'Literal' && typeof node.value === 'string' && /^\d{4}-/.test(node.value);
const isDateMember = (callee, name) =>
  callee.type === 'MemberExpression' && callee.object.name === 'Date' && callee.property.name === name;

/** @type {import('eslint').Rule.RuleModule} */
export default {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      both:
        'This clock is the machine’s, and line {{line}} has a fixed date: the test changes as the two drift apart. Give ' +
        'the code a clock of the data’s date (FakeClock, or new ShiftedClock(date) over real sockets), or derive the ' +
        'data from the clock.',
    },
  },
  create(context) {
    let fixed;
    const clocks = [];
    const date = (node) => (fixed ??= node);
    return {
      Literal(node) {
        if (thisCentury(node.value)) date(node);
      },
      ImportDeclaration(node) {
        if (/\/open-metrics\.ts$/.test(node.source.value) && node.importKind !== 'type') date(node);
      },
      Identifier(node) {
        if (node.name !== 'systemClock' || node.parent.type === 'ImportSpecifier') return;
        // A spread with its own `now` takes only the clock's timers, which no date affects.
        const { parent } = node;
        const now = parent.type === 'SpreadElement' && parent.parent.properties?.some((p) => p.key?.name === 'now');
        if (!now) clocks.push(node);
      },
      CallExpression(node) {
        const [first] = node.arguments;
        if (isDateMember(node.callee, 'UTC') && isYear(first)) date(node);
        if (isDateMember(node.callee, 'parse') && isDateText(first)) date(node);
        if (isDateMember(node.callee, 'now')) clocks.push(node);
        if (node.callee.name !== 'startQueryStage') return;
        const has = first?.properties?.some((p) => p.type === 'SpreadElement' || p.key?.name === 'clock');
        if (!has) clocks.push(node);
      },
      NewExpression(node) {
        const [first] = node.arguments;
        if (node.callee.name === 'Date') {
          if (isDateText(first)) date(node);
          if (!first) clocks.push(node);
        }
        if (node.callee.name === 'ShiftedClock' && !first) clocks.push(node);
      },
      'Program:exit'() {
        if (!fixed) return;
        const data = { line: String(fixed.loc.start.line) };
        for (const node of clocks) context.report({ node, messageId: 'both', data });
      },
    };
  },
};
