import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { integerSetting, textSetting } from '../base/settings.ts';
import { readSettingsFile } from './settings-file.ts';

const table = {
  appId: integerSetting({ help: 'id' }, 1, 1_000),
  logLevel: textSetting({ help: 'level', default: 'info' }),
};

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svc-settings-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function read(text: string): Readonly<Record<string, string | undefined>> {
  const path = join(dir, 'settings.yaml');
  writeFileSync(path, text);
  return readSettingsFile(path, table).values;
}

test('keys are the names of flags; numbers and words are taken as they are written', () => {
  expect(read('app-id: 7\nlog-level: debug # loud\n')).toEqual({ appId: '7', logLevel: 'debug' });
});

test.each(['0.10', '0123', '1e3', '12345678901234567890', '0x1F', 'true', '"0123"'])(
  'the value %s keeps all its characters',
  (value) => {
    expect(read(`log-level: ${value} # a comment\n`)).toEqual({ logLevel: value.replaceAll('"', '') });
  },
);

test.each([
  ['1e3', '1000'],
  ['+5', '5'],
  ['30.0', '30'],
  ['0x1F', '31'],
])('a setting that is a whole number takes %s as YAML understands it', (written, value) => {
  expect(read(`app-id: ${written}`)).toEqual({ appId: value });
});

test('an empty file sets nothing', () => {
  expect(read('# nothing yet\n')).toEqual({});
});

test.each([
  ['an unknown key', 'app_id: 7', /"app_id" is not a setting of this command/],
  ['a key twice', 'app-id: 7\napp-id: 8', /line 2: duplicate key/],
  ['a list', '- app-id', /must be a map of settings/],
  ['a nested value', 'log-level: {a: SECRET}', /log-level must be one plain value/],
  ['an empty value', 'log-level:', /log-level must be one plain value/],
  ['an alias', 'app-id: &a 7\nlog-level: *a', /aliases are not allowed/],
  ['a null', 'log-level: null', /log-level must be one plain value/],
  ['a file that is not YAML', 'log-level: "SECRET', /line 1: missing char/],
  ['a file that is too large', `# ${'x'.repeat(70_000)}`, /is larger than 65536 bytes/],
])('%s is refused, and the error names the place but not the value', (_case, text, message) => {
  expect(() => read(text)).toThrow(message);
  expect(() => read(text)).not.toThrow(/SECRET/);
});

test('a missing file is refused with its name', () => {
  expect(() => readSettingsFile(join(dir, 'none.yaml'), table)).toThrow(/none\.yaml: cannot be read: .*ENOENT/);
});
