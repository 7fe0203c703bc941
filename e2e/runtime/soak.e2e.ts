import { runSoak } from './soak/soak.ts';

test('a minute of random work, cut watches, killed leaders and API servers ends in the desired state', async () => {
  const { figures, violations } = await runSoak({ minutes: 1, seed: 1, rate: 20, log: () => undefined });
  expect(violations).toEqual([]);
  const value = (name: string): number => figures.find((f) => f.name.endsWith(`/${name}`))?.value ?? 0;
  for (const fault of ['api-server-restarts', 'watch-cuts', 'leader-kills']) {
    expect(value(fault)).toBeGreaterThan(0);
  }
  expect(value('operations')).toBeGreaterThan(300);
}, 300_000);
