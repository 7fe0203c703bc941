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
  ['is not a rule file', { README: rules('other') }],
  ['is too large to be a rule file', { '.yaml': `${rules('other')}\n#${'x'.repeat(70_000)}` }],
])('no repository outside the spec is found in a file that %s', (_what, files) => {
  expect(repositoryOutsideSpec(files, declared)).toBeUndefined();
});

test('a repository outside the spec is reported with file, line and remedy', () => {
  expect(repositoryOutsideSpec({ '.yaml': rules('gitops', 'other') }, declared)).toBe(
    '.yaml, line 7: repository other is not declared; add it to vcs.extraRepositories, or take it out of the rules',
  );
  expect(repositoryOutsideSpec({ 'other.yaml': '' }, declared)).toContain('other.yaml: repository other');
});
