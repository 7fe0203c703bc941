import { agentSettingTable, initConfigSettingTable } from '../agent/index.ts';
import type { Setting, SettingTable } from '../base/settings.ts';
import { operatorSettingTable } from '../controllers/index.ts';
import { minterSettingTable } from '../minter/index.ts';
import { querySettingTable } from '../query/index.ts';
import { installSettingTable, minterSettingTable as installMinterSettingTable } from './install/settings.ts';

const tables: Record<string, SettingTable> = {
  agent: agentSettingTable,
  'init-config': initConfigSettingTable,
  operator: operatorSettingTable,
  query: querySettingTable,
  minter: minterSettingTable,
  install: installSettingTable,
  'install, for a minter': installMinterSettingTable,
};

const takes = ({ parse }: Setting<unknown>, text: string): boolean => {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Settings that take a URL and nothing else, whatever they are called. */
const urls = Object.entries(tables).flatMap(([program, table]) =>
  Object.entries(table)
    .filter(([, row]) => takes(row, 'https://svc.example') && !takes(row, 'svc'))
    .map(([key, row]): [string, string, Setting<unknown>] => [program, key, row]),
);

test('the settings that take a URL are found', () => {
  expect(urls.map(([program, key]) => `${program} ${key}`)).toEqual([
    'operator customMetricsFallback',
    'operator longTermUrl',
    'operator admissionUrl',
    'operator otlpEndpoint',
    'query longTermUrl',
    'query customMetricsFallback',
    'minter vcsApiBaseUrl',
    'minter issuerUrl',
    'minter jwksUri',
    'install customMetricsFallback',
    'install longTermUrl',
    'install otlpEndpoint',
  ]);
});

test.each(urls)('%s: %s takes no user, password or query, and its error quotes none', (_program, _key, { parse }) => {
  for (const text of [
    'https://anna:s3cret@svc.example',
    'https://s3cret@svc.example',
    'https://:s3cret@svc.example',
    'https://@svc.example?s3cret',
    'https://anna:s3cret@',
    'https://svc.example\\@s3cret',
    'https://svc.example?key=s3cret',
  ]) {
    let message = 'taken';
    try {
      parse(text);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).not.toBe('taken');
    expect(message).not.toContain('s3cret');
  }
});
