import { createRequire } from 'node:module';
import { readPatience } from '../../src/testing/until.ts';

interface Limited {
  timeout: number | undefined;
}
type Handler = (event: { name: string; test?: Limited; hook?: Limited }, state: { testTimeout: number }) => void;
const load = createRequire(import.meta.url);
const { handleTestEvent } = (load('./one-realm.cjs') as { prototype: { handleTestEvent: Handler } }).prototype;
const patience = readPatience(process.env);

test.each(['test', 'hook'] as const)('the limit of a %s is stretched by the patience of the run, once', (kind) => {
  const own: Limited = { timeout: 500 };
  const ofConfig: Limited = { timeout: undefined };
  const name = kind === 'hook' ? 'hook_start' : 'test_fn_start';
  for (const limited of [own, own, ofConfig]) handleTestEvent({ name, [kind]: limited }, { testTimeout: 2_000 });
  expect([own.timeout, ofConfig.timeout]).toEqual([500 * patience, 2_000 * patience]);
});
