import { createMinterMetrics } from './metrics.ts';

test('minted tokens are counted from 0 on, so that an increase has the first one', async () => {
  const { registry } = createMinterMetrics({ version: '1.2.3', commit: 'abc' }, () => null);
  expect(await registry.metrics()).toContain('minter_mints_total{result="allow",code="ok"} 0\n');
});
