import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentContainer } from '../../src/render/agent/containers.ts';
import { platformDefaults } from '../../src/render/index.ts';
import { agentEnvironment, imageEnvironment } from './as-rendered.ts';

test('benchmarks start agents with the environment of the rendered container', () => {
  const { env } = agentContainer(platformDefaults, {}) as { env: { name: string; value?: string }[] };
  const fixed = Object.fromEntries(
    env.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value]),
  );
  expect({ ...imageEnvironment, ...fixed }).toEqual(agentEnvironment);
});

test('benchmarks start processes with the environment of the image', () => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const set = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile)![1]!.split(/\s*\\\n\s*|\s+/);
  const own = set.map((pair) => pair.split('=', 2) as [string, string]).filter(([name]) => name !== 'PATH');
  expect(Object.fromEntries(own)).toEqual(imageEnvironment);
});
