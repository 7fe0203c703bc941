import { createMinterMetrics } from './metrics.ts';

test('minted tokens are counted from 0 on, so that an increase has the first one', async () => {
  const { registry } = createMinterMetrics({ version: '1.2.3', commit: 'abc' }, () => null);
  expect(await registry.metrics()).toContain('minter_mints_total{result="allow",code="ok"} 0\n');
});

test('what is left of the rate limit of a platform is NaN, and not 0, until the platform states it', async () => {
  const { registry, platformRateLimitRemaining } = createMinterMetrics({ version: '1.2.3', commit: 'abc' }, () => null);
  expect(await registry.metrics()).toContain('minter_platform_rate_limit_remaining Nan\n');
  platformRateLimitRemaining.set(4_999);
  expect(await registry.metrics()).toContain('minter_platform_rate_limit_remaining 4999\n');
});
