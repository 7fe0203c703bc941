import { declaredRepositories, renderMinter } from '../../render/index.ts';
import { aMinterDeployment } from '../../testing/builders/minter-deployment.ts';
import { registeredRepositories, repositoriesInForce, withRegistered } from './registered-repositories.ts';

const read = (repositories: string): ReturnType<typeof registeredRepositories> =>
  registeredRepositories({ repositories }, 'acme');

test('each name is taken once, with or without the primary organisation; comments are skipped', () => {
  expect(read('fleet\n# more\nacme/apps # of the teams\n\n  fleet  \n')).toEqual({ names: ['fleet', 'apps'] });
});

test('nothing is registered without the ConfigMap or without its key', () => {
  expect(registeredRepositories(undefined, 'acme')).toEqual({ names: [] });
  expect(registeredRepositories({ other: 'x' }, 'acme')).toEqual({ names: [] });
});

test.each([
  ['another organisation', 'evil/fleet', /line 2: "evil\/fleet" is not in the organisation acme/],
  ['the organisation in upper case', 'ACME/fleet', /is not in the organisation acme/],
  ['a path', 'acme/a/b', /is neither a name nor organisation\/name/],
  ['a parent directory', 'acme/..', /is not the name of a repository/],
  ['an address', 'https://example.com/acme/x', /is neither a name nor/],
  ['a name that ends in .git', 'x.git', /is not the name of a repository/],
  ['a name that ends in .GIT', 'Tools.GIT', /"Tools\.GIT" is not the name of a repository/],
  ['a pattern', '*', /is not the name of a repository/],
])('%s is reported with its line and ignored; the other lines count', (_case, entry, message) => {
  const { names, fault } = read(`good\n${entry}\nalso-good`);
  expect(names).toEqual(['good', 'also-good']);
  expect(fault).toMatch(message);
});

test('every wrong line is reported, and the ConfigMap is named once', () => {
  const { fault } = read('evil/a\ngood\nx.git');
  expect(fault).toMatch(
    /^ConfigMap gitops-state, repositories, line 1: "evil\/a" .*; line 3: "x\.git" is not the name/,
  );
});

test('the fifty-first repository is one too many', () => {
  const { names, fault } = read(Array.from({ length: 51 }, (_, i) => `r${i}`).join('\n'));
  expect(names).toHaveLength(50);
  expect(fault).toMatch(/line 51: "r50" is one too many/);
});

test('scopes without a list of their own cover the registered repositories', () => {
  const minter = withRegistered(aMinterDeployment(), ['fleet', aMinterDeployment().spec.vcs.repository]);
  expect(declaredRepositories(minter.spec).filter((name) => name === 'fleet')).toEqual(['fleet']);
  const rules = renderMinter({ minter, operatorNamespace: 'svc-system' }).find((o) => o.kind === 'ConfigMap');
  expect(JSON.stringify(rules)).toContain('fleet');
  expect(withRegistered(aMinterDeployment(), [])).toEqual(aMinterDeployment());
});

describe('the registry of repositories', () => {
  const registry = { repositories: 'fleet\nacme/apps\ngitops\nevil/x' };
  const minter = (trustGitOpsState?: boolean) => {
    const made = aMinterDeployment();
    return {
      ...made,
      spec: {
        ...made.spec,
        vcs: { ...made.spec.vcs, ...(trustGitOpsState === undefined ? {} : { trustGitOpsState }) },
      },
    };
  };

  test.each([undefined, false])('is ignored with trustGitOpsState %p, and so are its faults', (trust) => {
    expect(repositoriesInForce(minter(trust), registry)).toEqual({
      names: [],
      ignored: 'ConfigMap gitops-state registers fleet and 1 more, which count only with vcs.trustGitOpsState: true',
    });
  });

  test('counts with trustGitOpsState: names in the primary organisation are taken, others are a fault', () => {
    const { names, fault, ignored } = repositoriesInForce(minter(true), registry);
    expect(names).toEqual(['fleet', 'apps', 'gitops']);
    expect(fault).toMatch(/line 4: "evil\/x" is not in the organisation/);
    expect(ignored).toBeUndefined();
  });

  test('is not mentioned if it adds nothing', () => {
    expect(repositoriesInForce(minter(), { repositories: 'gitops' })).toEqual({ names: [] });
    expect(repositoriesInForce(minter(), undefined)).toEqual({ names: [] });
  });
});
