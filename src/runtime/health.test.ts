import { Health, healthText } from './health.ts';

function health(): Health {
  const checks = new Health();
  checks.add('caches', () => {});
  checks.add('agents', () => Promise.reject(new Error('none answers')));
  return checks;
}

test('all checks run, one that fails or throws makes the whole fail, and its reason is told', async () => {
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

test('one check can be asked for alone, and a later one of a name replaces the earlier', async () => {
  const checks = health();
  expect((await checks.run({ only: 'caches' })).checks).toEqual([{ name: 'caches', ok: true }]);
  expect((await checks.run({ only: 'absent' })).checks).toEqual([]);
  checks.add('agents', () => {});
  expect((await checks.run()).ok).toBe(true);
});

test('without checks the report is ok', async () => {
  expect(await new Health().run()).toEqual({ ok: true, checks: [] });
});
