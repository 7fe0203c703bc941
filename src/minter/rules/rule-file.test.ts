import fc from 'fast-check';
import { parseRuleFile, type RuleFile } from './rule-file.ts';

const head = `version: 'minty.abcxyz.dev/v2'\n`;
const top = `rule: {if: "assertion.iss == issuers.google"}\n`;
const scope = (body: string, name = 's'): string => `scope:\n  ${name}: ${body}\n`;
const rule = `rule: {if: "assertion.email == 'a'"}`;
const good = `{${rule}, repositories: ['gitops'], permissions: {contents: write}}`;
const whole = head + top + scope(good);
const parse = (text: string | Uint8Array, allowWildcard = false): ReturnType<typeof parseRuleFile> =>
  parseRuleFile('.yaml', typeof text === 'string' ? Buffer.from(text) : text, { allowWildcard });
const file = (text: string, allowWildcard = false): RuleFile => {
  const result = parse(text, allowWildcard);
  if (!('file' in result)) throw new Error(result.fault.message);
  return result.file;
};

test('reads a document of version 2', () => {
  const { scopes, faults } = file(whole);
  expect(faults).toEqual([]);
  expect([...scopes.get('s')!.repositories]).toEqual(['gitops']);
  expect([...scopes.get('s')!.permissions]).toEqual([['contents', 'write']]);
});

test('takes a YAML boolean as a rule', () => {
  const text = head + `rule: {if: true}\n` + scope(good);
  expect([...file(text).scopes.keys()]).toEqual(['s']);
});

test.each<[sentence: string, text: string | Uint8Array, message: RegExp]>([
  ['text that is not YAML', ':\n  - ][', /not valid YAML|mapping/],
  ['an empty file', '', /one YAML document|mapping/],
  ['a list (version 1)', '- rule: {}\n', /version 1/],
  ['no version', top + scope(good), /version must be/],
  ['another version', whole.replace('/v2', '/v3'), /version must be/],
  ['no top rule', head + scope(good), /rule.if is missing/],
  ['an empty top rule', head + 'rule: {}\n' + scope(good), /rule.if is missing/],
  ['a top rule that is a number', head + 'rule: {if: 7}\n' + scope(good), /rule.if is missing/],
  ['a top rule that does not parse', head + 'rule: {if: "email =="}\n' + scope(good), /rule.if: unknown name/],
  ['an unknown key', whole + 'admin: true\n', /unknown key/],
  ['an unknown key in the top rule', head + 'rule: {if: "true", else: "true"}\n' + scope(good), /unknown key/],
  ['a repeated key', whole + top, /not valid YAML/],
  ['a repeated key in a scope', whole.replace('permissions:', 'repositories: [], permissions:'), /DUPLICATE_KEY/],
  ['a repeated scope', `${whole}  s: ${good}\n`, /DUPLICATE_KEY/],
  ['a repeated key in a list', whole.replace(`['gitops']`, '[{a: 1, a: 2}]'), /DUPLICATE_KEY/],
  ['two documents', `${whole}---\n${whole}`, /one YAML document/],
  ['an alias', head + 'rule: &r {if: "true"}\nscope: *r\n', /aliases|anchors/],
  ['an anchor', whole.replace('scope:', 'scope: &a'), /anchors/],
  ['a custom tag', whole.replace(`'minty`, `!x 'minty`), /YAML|tags/],
  ['no scopes', head + top, /scope must be a mapping/],
  ['more than 256 KiB', whole + `# ${'x'.repeat(262_144)}`, /larger/],
  ['bytes that are not UTF-8', Buffer.from([0x61, 0xff]), /UTF-8/],
  ['endless nesting', '['.repeat(250_000), /./],
])('the file is faulty: %s', (_sentence, text, message) => {
  const result = parse(text);
  expect('fault' in result && result.fault.message).toMatch(message);
});

test.each<[sentence: string, scopeBody: string, message: RegExp]>([
  ['no rule', `{repositories: ['a'], permissions: {contents: read}}`, /rule.if is missing/],
  ['a bad rule', good.replace('==', '=~'), /rule.if/],
  ['no repositories', `{${rule}, permissions: {contents: read}}`, /repositories is missing/],
  ['empty repositories', `{${rule}, repositories: [], permissions: {contents: read}}`, /repositories is missing/],
  ['* in repositories', good.replace(`'gitops'`, `'*'`), /"\*" is not a plain name/],
  ['a pattern in repositories', good.replace(`'gitops'`, `'git*'`), /"git\*" is not a plain name/],
  ['an owner in repositories', good.replace(`'gitops'`, `'acme/gitops'`), /"acme\/gitops" is not a plain name/],
  ['a name in repositories that ends in .GIT', good.replace(`'gitops'`, `'Tools.GIT'`), /"Tools\.GIT" is not/],
  ['a number in repositories', good.replace(`'gitops'`, `7`), /7 is not a plain name/],
  ['no permissions', `{${rule}, repositories: ['a']}`, /permissions is missing/],
  ['empty permissions', `{${rule}, repositories: ['a'], permissions: {}}`, /permissions is missing/],
  ['* in permissions', good.replace('contents', `'*'`), /name is not valid/],
  ['a level that does not exist', good.replace('write', 'own'), /read, write or admin/],
  ['a permission that is a list', good.replace('write', '[write]'), /read, write or admin/],
  ['an unknown key', good.replace(/}$/, ', branch: main}'), /unknown key/],
  ['a text instead of its fields', 'yes', /not a mapping/],
  ['rules that check no caller', good.replace(rule, `rule: {if: "true"}`), /neither rule refers/],
])('a scope with %s is off, other scopes work, and the fault names the line', (_sentence, body, message) => {
  const { scopes, faults } = file(`${head}${top}scope:\n  bad: ${body}\n  fine: ${good}\n`);
  expect([...scopes.keys()]).toEqual(['fine']);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatchObject({ file: '.yaml', scope: 'bad', line: 4 });
  expect(faults[0]!.message).toMatch(message);
});

test('accepts the wildcard only where allowWildcard is set, and only as the one repository of a scope', () => {
  const wild = head + top + scope(good.replace(`'gitops'`, `'*'`));
  expect(file(wild, true).scopes.get('s')?.everyRepository).toBe(true);
  const mixed = head + top + scope(good.replace(`'gitops'`, `'*', 'gitops'`));
  expect(file(mixed, true).scopes.size).toBe(0);
});

test('a repeated key is reported with its line', () => {
  expect(parse(`${whole}  other: {}\n  s: ${good}\n`)).toMatchObject({ fault: { file: '.yaml', line: 6 } });
});

test('the time that a file takes grows with its keys, not with their square', () => {
  const cpuOf = (count: number): number => {
    const text = `{${Array.from({ length: count }, (_, i) => (12_960 + i).toString(36)).join()}}`;
    const started = process.threadCpuUsage();
    expect(parse(text)).toMatchObject({ fault: { message: 'unknown key' } });
    const { user, system } = process.threadCpuUsage(started);
    return user + system;
  };
  const runs = Array.from({ length: 5 }, () => [2_000, 16_000].map((count) => cpuOf(count)));
  const [few, many] = [0, 1].map((i) => Math.min(...runs.map((run) => run[i]!)));
  // About 8, but 50 to 100 if each key is compared with all others. What else this process does only adds to a time.
  expect(many! / few!).toBeLessThan(30);
});

test('any bytes give a file or a fault, never an exception', () => {
  const pieces = fc.constantFrom(
    head,
    top,
    'scope:\n',
    '  s: ',
    good,
    '\n',
    '{',
    '}',
    '[',
    '&a ',
    '*a',
    '!!x ',
    '- ',
    '|\n',
    'rule:',
    ':',
    '"',
    '---\n',
  );
  const texts = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.array(pieces, { maxLength: 12 }).map((p) => Buffer.from(p.join(''))),
    fc.tuple(fc.nat(), fc.nat(3), fc.option(pieces, { nil: '' })).map(([at, taken, put]) => {
      const i = at % (whole.length + 1);
      return Buffer.from(whole.slice(0, i) + put + whole.slice(i + taken));
    }),
  );
  const met = { files: 0, faults: 0 };
  fc.assert(
    fc.property(texts, (bytes) => {
      const result = parse(bytes);
      if ('file' in result) expect(result.file.name).toBe('.yaml');
      else expect(result.fault.message).not.toBe('');
      met['file' in result ? 'files' : 'faults']++;
    }),
    { numRuns: 500 },
  );
  expect(Math.min(met.files, met.faults)).toBeGreaterThan(10);
});

test('a value in the message of a fault ends with a whole character', () => {
  const value = `${'x'.repeat(126)}\u{1f600}`;
  const { faults } = file(head + top + scope(`{${rule}, repositories: ['${value}'], permissions: {contents: write}}`));
  expect(faults.map(({ message }) => message)).toEqual([expect.stringMatching(/ "x{126} is not a plain name$/)]);
});
