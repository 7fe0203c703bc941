import { repositoryOutsideSpec } from './rule-repositories.ts';

const declared = ['gitops', 'extra'];
const rules = (...repositories: string[]): string =>
  [
    "version: 'minty.abcxyz.dev/v2'",
    'rule: {if: "assertion.iss == issuers.google"}',
    'scope:',
    '  main:',
    '    repositories:',
    ...repositories.map((name) => `      - '${name}'`),
  ].join('\n');

test.each<[string, Record<string, string>]>([
  ['names declared repositories', { '.yaml': rules('gitops', 'extra') }],
  ['is for a declared repository', { 'extra.yaml': rules('extra') }],
  ['allows all installed repositories', { '.yaml': rules('*') }],
  ['is not YAML', { '.yaml': '{' }],
  ['has no scope', { '.yaml': 'version: x' }],
  ['is nested without end', { '.yaml': '['.repeat(250_000) }],
  ['is not a rule file', { README: rules('other') }],
  ['names what is no repository name, which the pods report', { '.yaml': rules('acme/other', 'other.GIT', 'o*') }],
  ['is for what is no repository name', { 'other.git.yaml': rules() }],
  ['spells a declared repository in another case', { 'GitOps.yaml': rules('GITOPS') }],
  ['is too large to be a rule file', { '.yaml': `${rules('other')}\n#${'x'.repeat(270_000)}` }],
  [
    'has too many bytes, if not characters, to be a rule file',
    { '.yaml': `${rules('other')}\n#${'é'.repeat(135_000)}` },
  ],
])('no repository outside the spec is found in a file that %s', (_what, files) => {
  expect(repositoryOutsideSpec(files, declared)).toBeUndefined();
});

test('a repository outside the spec is reported with file, line and remedy', () => {
  expect(repositoryOutsideSpec({ '.yaml': rules('gitops', 'other') }, declared)).toBe(
    '.yaml, line 7: repository other is not declared; add it to vcs.extraRepositories, or take it out of the rules',
  );
  expect(repositoryOutsideSpec({ 'other.yaml': '' }, declared)).toContain('other.yaml: repository other');
});

test('a repository outside the spec is reported from the largest file that the pods read, and by the name of any', () => {
  const sized = (bytes: number): string => rules('other').padEnd(bytes, '\n');
  for (const bytes of [70_000, 256 * 1024]) {
    expect(repositoryOutsideSpec({ '.yaml': sized(bytes) }, declared)).toContain('.yaml, line 6: repository other');
  }
  const tooLarge = { 'other.yaml': sized(256 * 1024 + 1) };
  expect(repositoryOutsideSpec(tooLarge, declared)).toContain('other.yaml: repository other');
});

/** A file of short unique keys, from `a00` on, in one flow mapping. */
const manyKeys = (count: number): string =>
  `{${Array.from({ length: count }, (_, i) => (12_960 + i).toString(36)).join()}}`;

test('the time that a file takes grows with its keys, not with their square', () => {
  const cpuOf = (text: string): number => {
    const started = process.threadCpuUsage();
    expect(repositoryOutsideSpec({ '.yaml': text }, declared)).toBeUndefined();
    const { user, system } = process.threadCpuUsage(started);
    return user + system;
  };
  const runs = Array.from({ length: 5 }, () => [2_000, 16_000].map((count) => cpuOf(manyKeys(count))));
  const [few, many] = [0, 1].map((i) => Math.min(...runs.map((run) => run[i]!)));
  // About 8, but 50 to 100 if each key is compared with all others. What else this process does only adds to a time.
  expect(many! / few!).toBeLessThan(30);
});

test('files are read up to 128 KiB together, the first whatever its size, and what comes after is left to the pods', () => {
  const padded = (repository: string): string => `${rules(repository)}\n#${'x'.repeat(60_000)}`;
  const files = { 'a.yaml': padded('a'), 'b.yaml': padded('b'), 'c.yaml': padded('other') };
  expect(repositoryOutsideSpec(files, ['a', 'b', 'c'])).toBeUndefined();
  expect(repositoryOutsideSpec({ ...files, 'b.yaml': padded('other') }, ['a', 'b', 'c'])).toContain('b.yaml, line 6');
  const first = { '.yaml': rules('gitops').padEnd(200_000, '\n'), 'b.yaml': rules('other') };
  expect(repositoryOutsideSpec(first, ['gitops', 'b'])).toBeUndefined();
  expect(repositoryOutsideSpec({ ...first, 'a.yaml': '' }, ['gitops', 'b'])).toContain('a.yaml: repository a');
});
