import { agentSettingTable, initConfigSettingTable } from '../agent/index.ts';
import type { Setting } from '../base/settings.ts';
import { operatorSettingTable } from '../controllers/index.ts';
import { minterSettingTable } from '../minter/index.ts';
import { querySettingTable } from '../query/index.ts';
import { installSettingTable } from './install/settings.ts';

const addresses: [string, Setting<unknown>][] = [
  ['agent --bind-address', agentSettingTable.bindAddress],
  ['agent --otlp-bind-address', agentSettingTable.otlpBindAddress],
  ['init-config --otlp-bind-address', initConfigSettingTable.otlpBindAddress],
  ['operator --bind-address', operatorSettingTable.bindAddress],
  ['query --bind-address', querySettingTable.bindAddress],
  ['minter BIND_ADDRESS', minterSettingTable.bindAddress],
];

describe.each(addresses)('%s', (_name, { parse }) => {
  test.each(['0.0.0.0', '127.0.0.1', '::', 'fd00::1'])('takes %s', (text) => expect(parse(text)).toBe(text));
  test.each(['', '999.1.1.1', '1.2.3', '1.2.3.4.5', ':::', '1::2::3', '[::]', 'abcd', 'localhost'])(
    'refuses %j',
    (text) => expect(() => parse(text)).toThrow('an IP address'),
  );
});

test.each([
  ['agent', agentSettingTable.bindAddress],
  ['operator', operatorSettingTable.bindAddress],
  ['query', querySettingTable.bindAddress],
  ['minter', minterSettingTable.bindAddress],
])('by default, %s listens on every address of IPv6 and IPv4', (_program, setting) => {
  expect(setting.default).toBe('::');
});

describe.each([
  ['agent', agentSettingTable.obiInstrumentPorts],
  ['init-config', initConfigSettingTable.obiInstrumentPorts],
  ['operator', operatorSettingTable.obiInstrumentPorts],
  ['query', querySettingTable.obiInstrumentPorts],
  ['install', installSettingTable.obiInstrumentPorts],
])('%s --obi-instrument-ports', (_program, { parse }) => {
  test.each(['80', '1-65535', '80,443,8000-8100'])('takes %s', (text) => expect(parse(text)).toBe(text));
  test.each(['', '0', '65536', '8000-7000', '80,99999', '80,,90', '80-', 'http'])('refuses %j', (text) =>
    expect(() => parse(text)).toThrow('is not a list of ports such as 80,443,8000-8100'),
  );
});

describe.each([
  ['operator', operatorSettingTable.apiServerCidrs],
  ['install', installSettingTable.apiServerCidrs],
])('%s --api-server-cidrs', (_program, { parse }) => {
  test.each([
    ['', []],
    ['10.0.0.0/28, fd00::/8', ['10.0.0.0/28', 'fd00::/8']],
  ])('takes %j', (text, list) => expect(parse(text)).toEqual(list));
  test.each(['999.1.1.1/8', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/8,fd00::/129', ':::/8', 'abcd/8', '10.0.0.0'])(
    'refuses %j',
    (text) => expect(() => parse(text)).toThrow(`${JSON.stringify(text.split(',').at(-1))} is not an address range`),
  );
});
