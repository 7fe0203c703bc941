import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * A program that starts a test (or hook) with its own limit of 500 ms twice, then one to which the config's limit
 * applies. It prints the limit that each of the two has in the end.
 */
const script = (kind: 'test' | 'hook'): string => `
  const { handleTestEvent } = require('./one-realm.cjs').prototype;
  const name = '${kind === 'hook' ? 'hook_start' : 'test_fn_start'}';
  const [own, ofConfig] = [{ timeout: 500 }, {}];
  for (const limited of [own, own, ofConfig]) handleTestEvent({ name, ${kind}: limited }, { testTimeout: 2_000 });
  console.log(JSON.stringify([own.timeout, ofConfig.timeout]));`;

test.each(['test', 'hook'] as const)(
  'the limit of a %s is multiplied by SVC_TEST_PATIENCE, only once even if it starts again',
  async (kind) => {
    const env = { ...process.env, SVC_TEST_PATIENCE: '3' };
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script(kind)], {
      env,
      cwd: import.meta.dirname,
    });
    expect(JSON.parse(stdout)).toEqual([1_500, 6_000]);
  },
);
