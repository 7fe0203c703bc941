import { Health, healthText } from './health.ts';

function health(): Health {
  const checks = new Health();
  checks.add('caches', () => {});
  checks.add('agents', () => Promise.reject(new Error('none answers')));
  return checks;
}

test('all checks run, and one that rejects or throws fails the report with its reason', async () => {
  const checks = health();
  checks.add('rules', () => {
    throw new Error('unreadable');
  });
  const report = await checks.run();
  expect(report.ok).toBe(false);
  expect(healthText('readyz', report)).toBe(
    '[+]caches ok\n[-]agents failed: none answers\n[-]rules failed: unreadable\nreadyz check failed\n',
  );
});

test('an excluded check is named as such and does not count', async () => {
  const report = await health().run({ exclude: ['agents'] });
  expect(report.ok).toBe(true);
  expect(healthText('livez', report)).toBe('[+]caches ok\n[+]agents excluded: ok\nlivez check passed\n');
});

test('a single check can be run, and a later check of the same name replaces an earlier one', async () => {
  const checks = health();
  expect((await checks.run({ only: 'caches' })).checks).toEqual([{ name: 'caches', ok: true }]);
  expect((await checks.run({ only: 'absent' })).checks).toEqual([]);
  checks.add('agents', () => {});
  expect((await checks.run()).ok).toBe(true);
});

test('without checks the report is ok', async () => {
  expect(await new Health().run()).toEqual({ ok: true, checks: [] });
});
