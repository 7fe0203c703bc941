import { aNamespace, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { parseCaptureConfig } from '../capture-config.ts';
import { compile } from './compile.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();
const young = aPolicy('young', { redaction: { dbQueryText: 'Drop' } }, { creationTimestamp: at(1_000) });
const olderPolicies = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    aPolicy(`p${i}`, { redaction: { dropClientAddress: true } }, { creationTimestamp: at(i) }),
  );

test('policies for a namespace each, with rules of every sort, give a config that an agent takes', () => {
  const teams = Array.from({ length: 65 }, (_, i) => `team-${i}`);
  const { nodes, policies } = compile(
    aWorld({
      namespaces: teams.map((team) => aNamespace(team, { team })),
      policies: teams.map((team) =>
        aPolicy(team, {
          namespaceSelector: { matchLabels: { team } },
          defaults: { metrics: { labels: { podLabels: [team] } } },
          redaction: { headers: { allow: [`x-${team}`] } },
          export: ['a', 'b', 'c', 'd'].map((name) => ({ name, type: 'OTLP', endpoint: 'https://metrics.example' })),
        }),
      ),
    }),
  );
  expect([...policies.values()].filter(({ accepted }) => accepted.ok)).toHaveLength(65);
  const { config } = nodes.get('node-1')!;
  expect([config.fallback!.length, config.exports!.length, config.redaction!.length]).toEqual([65, 260, 65]);
  expect(() => parseCaptureConfig(config)).not.toThrow();
});

test('a thousand policies are in force, the oldest; the condition of another one says why it is not', () => {
  const { nodes, policies } = compile(aWorld({ policies: [young, ...olderPolicies(1_000)] }));
  expect([...policies.values()].filter(({ accepted }) => !accepted.ok)).toMatchObject([
    {
      name: 'young',
      accepted: { reason: 'TooManyPolicies', message: expect.stringMatching(/^1000 older policies/) as string },
      inForce: null,
    },
  ]);
  const { config } = nodes.get('node-1')!;
  expect(config.redaction).toEqual(Array.from({ length: 1_000 }, () => ({ dropClientAddress: true })));
  expect(() => parseCaptureConfig(config)).not.toThrow();
});

test('a policy of which nothing is in force does not count, and its condition keeps its own reason', () => {
  const [first, ...rest] = olderPolicies(1_000);
  const policies = compile(aWorld({ policies: [young, { ...first!, spec: { exclusions: [{}] } }, ...rest] })).policies;
  expect(policies.get('young')!.accepted.ok).toBe(true);
  expect(policies.get('p0')!.accepted.reason).toBe('Invalid');
});
