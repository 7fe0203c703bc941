import { decimalSource } from './decimal.ts';

const decimal = new RegExp(`^${decimalSource}$`);

test.each(['0', '5', '5.', '.5', '12.75', '1e3', '1.5E-2', '.5e+10'])('%s is a decimal number', (text) => {
  expect(text).toMatch(decimal);
});

test.each(['', '.', 'e3', '5.e', '1e', '-5', '1 ', '1..2', '0x10'])('%j is none', (text) => {
  expect(text).not.toMatch(decimal);
});

test('many digits before a character that is none are refused without trying each way to part them', () => {
  const before = process.cpuUsage();
  expect(decimal.test(`${'1'.repeat(20_000)}x`)).toBe(false);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(1_000);
});
