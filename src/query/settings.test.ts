import { readSettings } from '../base/settings.ts';
import { queryOptionTable } from '../render/index.ts';
import { querySettingTable } from './settings.ts';

const read = (flags: Readonly<Record<string, string>>) =>
  readSettings(querySettingTable, { flags: { namespace: 'svc-system', ...flags }, env: {}, prefix: 'SVC_' });
const install = (flags: Readonly<Record<string, string>>) =>
  readSettings(queryOptionTable, { flags, env: {}, prefix: 'SVC_' });

test.each([
  [{ queryTimeout: '0s' }, '--query-timeout: "0s" is shorter than 1s'],
  [{ queryTimeout: '999ms' }, '--query-timeout: "999ms" is shorter than 1s'],
  [{ agentTimeout: '0s' }, '--agent-timeout: "0s" is shorter than 100ms'],
])('%j, with which no query can be answered, is refused by the query server and by what installs it', (flags, why) => {
  const refusal = expect.objectContaining({ code: 'ERR_CONFIG_INVALID', message: expect.stringContaining(why) });
  expect(() => read(flags)).toThrow(refusal);
  expect(() => install(flags)).toThrow(refusal);
});

test('the shortest timeouts are those that a policy may set', () => {
  const shortest = { queryTimeout: '1s', agentTimeout: '100ms' };
  expect(read(shortest)).toMatchObject({ queryTimeout: 1_000, agentTimeout: 100 });
  expect(install(shortest)).toMatchObject(shortest);
});

test('a lookback of 0, which would find nothing, means the default as in Prometheus', () => {
  const lookback = (flags: Readonly<Record<string, string>>) => read(flags).lookbackDelta;
  expect([{ lookbackDelta: '0s' }, {}, { lookbackDelta: '1ms' }].map(lookback)).toEqual([300_000, 300_000, 1]);
  expect(install({ lookbackDelta: '0s' }).lookbackDelta).toBe('0s');
});
