import fc from 'fast-check';
import { Refusal } from '../refusal.ts';
import type { Claims } from './evaluate.ts';
import type { ClaimName } from './expression-parser.ts';
import { levels, type Level } from './permissions.ts';
import { compileRules, type RuleSources } from './rule-directory.ts';
import { decide, noRules, type RuleRequest, type RuleSet } from './rule-set.ts';

const caller: Claims = new Map<ClaimName, string>([
  ['iss', 'i'],
  ['sub', '1'],
  ['email', 'agent@x'],
]);
const issuers = new Map([['google', 'i']]);

interface ScopeSpec {
  rule?: string;
  repositories: readonly string[];
  permissions: Record<string, string>;
}

function document(scopes: Record<string, ScopeSpec>, top = 'assertion.iss == issuers.google'): string {
  return JSON.stringify({
    version: 'minty.abcxyz.dev/v2',
    rule: { if: top },
    scope: Object.fromEntries(
      Object.entries(scopes).map(([name, { rule = `assertion.email == 'agent@x'`, ...rest }]) => [
        name,
        { rule: { if: rule }, ...rest },
      ]),
    ),
  });
}

function rules(files: Record<string, string>): RuleSet {
  const sources: RuleSources = new Map(Object.entries(files).map(([n, text]) => [n, { bytes: Buffer.from(text) }]));
  return compileRules(sources, noRules, { allowWildcard: true });
}

const ask = (set: RuleSet, request: Partial<RuleRequest>, repositories?: ReadonlySet<string>): string => {
  try {
    const decision = decide(
      set,
      { org: 'acme', repositories: ['a'], scope: 's', permissions: undefined, ...request },
      caller,
      { issuers, repositories },
    );
    return [...decision.permissions].map((p) => p.join(':')).join(',');
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
};

const s = (repositories: string[], permissions: Record<string, string> = { contents: 'write' }): ScopeSpec => ({
  repositories,
  permissions,
});

test('each repository of a request is decided by its own file; if one is denied, the whole request is denied', () => {
  const set = rules({
    '.yaml': document({ s: s(['a', 'b', 'c']) }),
    'b.yaml': document({ s: { ...s(['b']), rule: `assertion.email == 'boss@x'` } }),
    'c.yaml': document({ s: s(['c'], { contents: 'read' }) }),
  });
  expect(ask(set, { repositories: ['a'] })).toBe('contents:write');
  expect(ask(set, { repositories: ['a', 'b'] })).toBe('scope_denied');
  expect(ask(set, { repositories: ['B'] })).toBe('scope_denied');
  expect(ask(set, { repositories: ['a', 'c'] })).toBe('permission_denied');
  expect(ask(set, { repositories: ['c', 'a'] })).toBe('contents:read');
  expect(ask(set, { repositories: ['d'] })).toBe('repository_denied');
});

test('an undeclared repository is denied, whatever a rule grants', () => {
  const set = rules({ '.yaml': document({ s: s(['a', 'b']), all: s(['*']) }) });
  const declared = new Set(['a']);
  expect(ask(set, { repositories: ['a'] }, declared)).toBe('contents:write');
  expect(ask(set, { repositories: ['A'], scope: 'all' }, declared)).toBe('contents:write');
  expect(ask(set, { repositories: ['b'] }, declared)).toBe('repository_denied');
  expect(ask(set, { repositories: ['a', 'b'] }, declared)).toBe('repository_denied');
  expect(ask(set, { repositories: ['b'], scope: 'all' }, declared)).toBe('repository_denied');
  expect(ask(set, { repositories: ['b'] })).toBe('contents:write');
});

test("a repository's own file must list the repository, too, or the repository is denied", () => {
  expect(ask(rules({ 'a.yaml': document({ s: s(['b']) }) }), {})).toBe('repository_denied');
});

test('the top rule and the rule of the scope must both hold', () => {
  expect(ask(rules({ '.yaml': document({ s: s(['a']) }, 'false') }), {})).toBe('scope_denied');
  expect(ask(rules({ '.yaml': document({ s: s(['a']) }, `assertion.repository == 'a'`) }), {})).toBe('scope_denied');
  const boss = { ...s(['a']), rule: `assertion.email == 'boss@x'` };
  expect(ask(rules({ '.yaml': document({ s: boss }) }), {})).toBe('scope_denied');
  expect(ask(rules({ '.yaml': document({ s: s(['a']) }) }), {})).toBe('contents:write');
});

test('rules may refer to the requested organisation, and to the repository that is being decided', () => {
  const rule = `assertion.email == 'agent@x' && assertion.parsed_org_name == 'acme' && assertion.parsed_repo_name == 'a'`;
  const set = rules({ '.yaml': document({ s: { ...s(['a', 'b']), rule } }) });
  expect(ask(set, {})).toBe('contents:write');
  expect(ask(set, { repositories: ['b'] })).toBe('scope_denied');
});

test.each<[rule: string, admits: boolean]>([
  [`assertion.parsed_repo_name != 'secret'`, false],
  [`'secret' != assertion.parsed_repo_name`, false],
  [`!(assertion.parsed_repo_name == 'Secret')`, false],
  [`!(assertion.parsed_repo_name in ['other', 'secret'])`, false],
  [`!('secret' in ['other', assertion.parsed_repo_name])`, false],
  [`!assertion.parsed_repo_name.startsWith('sec')`, false],
  [`!assertion.parsed_repo_name.endsWith('ret')`, false],
  [`!assertion.parsed_repo_name.contains('ecre')`, false],
  [`!'the secret'.contains(assertion.parsed_repo_name)`, false],
  [`assertion.parsed_org_name != 'Acme'`, false],
  [`assertion.parsed_repo_name == 'secret'`, true],
  [`assertion.parsed_repo_name != 'public'`, true],
])('%s holds, or not, for every spelling of the repository (%s)', (rule, admits) => {
  const set = rules({ '.yaml': document({ s: { ...s(['*']), rule: `assertion.email == 'agent@x' && ${rule}` } }) });
  for (const repository of ['secret', 'SECRET', 'sEcReT']) {
    expect([repository, ask(set, { repositories: [repository] })]).toEqual([
      repository,
      admits ? 'contents:write' : 'scope_denied',
    ]);
  }
});

test.each([
  `assertion.email == 'Agent@x'`,
  `assertion.email in ['Agent@x', assertion.parsed_repo_name]`,
  `assertion.email.startsWith('Agent')`,
])('the name of a repository is compared without case, and nothing else: %s does not hold', (rule) => {
  const set = rules({ '.yaml': document({ s: { ...s(['a']), rule: `assertion.sub == '1' && ${rule}` } }) });
  expect(ask(set, {})).toBe('scope_denied');
});

test('without rules every request is denied', () => {
  expect(ask(noRules, {})).toBe('scope_denied');
});

test.each<[requested: [string, string][], allowed: Record<string, string>, expected: string]>([
  [[['issues', 'read']], { issues: 'write' }, 'issues:read'],
  [[['issues', 'write']], { issues: 'read' }, 'permission_denied'],
  [[['issues', 'write']], { issues: 'admin' }, 'issues:write'],
  [[['contents', 'read']], { issues: 'write' }, 'permission_denied'],
  [[['issues', 'own']], { issues: 'write' }, 'permission_denied'],
  [[['__proto__', 'read']], { issues: 'write' }, 'permission_denied'],
  [[['toString', 'read']], { issues: 'write' }, 'permission_denied'],
])('requested %j, allowed %j: %s', (requested, allowed, expected) => {
  expect(ask(rules({ '.yaml': document({ s: s(['a'], allowed) }) }), { permissions: new Map(requested) })).toBe(
    expected,
  );
});

test('a decision never grants more than the request asks for, nor more than any scope that applies allows', () => {
  const names = ['a', 'b', 'c'];
  const permissionsArb = fc.dictionary(
    fc.constantFrom('contents', 'issues', 'pull_requests'),
    fc.constantFrom(...levels),
    { minKeys: 1 },
  );
  const scopeArb = fc.record({ repositories: fc.subarray(names, { minLength: 1 }), permissions: permissionsArb });
  const filesArb = fc.dictionary(fc.constantFrom('.yaml', 'a.yaml', 'b.yaml'), scopeArb);
  let admitted = 0;
  fc.assert(
    fc.property(
      filesArb,
      fc.subarray(names, { minLength: 1 }),
      fc.option(permissionsArb),
      (files, repositories, wanted) => {
        const set = rules(Object.fromEntries(Object.entries(files).map(([n, scope]) => [n, document({ s: scope })])));
        const permissions = wanted ? new Map(Object.entries(wanted)) : undefined;
        const text = ask(set, { repositories, permissions });
        if (text.endsWith('_denied')) return;
        admitted++;
        for (const repository of repositories) {
          const scope = files[`${repository}.yaml`] ?? files['.yaml'];
          expect(scope?.repositories).toContain(repository);
          for (const pair of text.split(',')) {
            const [name, level] = pair.split(':') as [string, Level];
            expect(levels.indexOf(level)).toBeLessThanOrEqual(levels.indexOf(scope!.permissions[name]!));
            if (permissions) expect(permissions.get(name)).toBe(level);
          }
        }
      },
    ),
    { numRuns: 500 },
  );
  expect(admitted).toBeGreaterThan(20);
});
