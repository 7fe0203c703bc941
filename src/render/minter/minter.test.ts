import { parse } from 'yaml';
import { aMinterDeployment } from '../../testing/builders/minter-deployment.ts';
import { expectGolden } from '../../testing/golden.ts';
import { parseRuleFile } from '../../minter/rules/rule-file.ts';
import { yamlStream } from '../../testing/yaml.ts';
import { minterUrl, renderMinter, renderMinterRules } from '../index.ts';

const operatorNamespace = 'svc-system';
const scope = {
  name: 'readers',
  emails: ['one@demo-project.iam.gserviceaccount.com', 'two@demo-project.iam.gserviceaccount.com'],
  subs: ['112233'],
  repositories: ['gitops'],
  permissions: { issues: 'read', contents: 'read' } as const,
};
const base = aMinterDeployment();

describe('renderMinter', () => {
  test('renders a small MinterDeployment as in its golden file', () => {
    expectGolden(
      import.meta.dirname,
      'minter-defaults.golden.yaml',
      yamlStream(renderMinter({ minter: base, operatorNamespace })),
    );
  });

  test('renders a MinterDeployment with every setting as in its golden file', () => {
    const minter = aMinterDeployment({
      replicas: 1,
      vcs: { ...base.spec.vcs, apiBaseURL: 'https://git.example:8443/api/v3', extraRepositories: ['extra'] },
      kms: { ...base.spec.kms, nextKeyVersion: base.spec.kms.keyVersion.replace(/1$/, '2') },
      rules: { configMapRef: { name: 'my-rules' }, undeclaredRepositories: 'Refuse' },
      audience: { url: 'https://minter.example', additional: ['https://minter.example/token'] },
      serviceAccount: { create: true, name: 'signer', annotations: { 'iam.gke.io/gcp-service-account': 'x@y' } },
      allowedCallers: {
        podSelector: { matchLabels: { app: 'agent' } },
        namespaceSelector: { matchLabels: { team: 'platform' } },
      },
      tls: { secretName: 'minter-tls' },
      metrics: { allowedScrapers: { podSelector: { matchLabels: { app: 'prometheus' } } } },
      nodeSelector: { pool: 'small' },
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    });
    expectGolden(
      import.meta.dirname,
      'minter-with-settings.golden.yaml',
      yamlStream(renderMinter({ minter, operatorNamespace, imagePullPolicy: 'IfNotPresent', appIdHash: 'sha256:1' })),
    );
  });

  test('keeps the pods on Linux nodes, whatever else the spec selects', () => {
    const nodeSelectorOf = (nodeSelector?: Record<string, string>): unknown => {
      const objects = renderMinter({
        minter: aMinterDeployment(nodeSelector ? { nodeSelector } : {}),
        operatorNamespace,
      });
      const { spec } = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
        spec: { template: { spec: { nodeSelector: unknown } } };
      };
      return spec.template.spec.nodeSelector;
    };
    expect(nodeSelectorOf()).toEqual({ 'kubernetes.io/os': 'linux' });
    expect(nodeSelectorOf({ pool: 'small' })).toEqual({ 'kubernetes.io/os': 'linux', pool: 'small' });
    expect(nodeSelectorOf({ 'kubernetes.io/os': 'windows' })).toEqual({ 'kubernetes.io/os': 'linux' });
  });

  test('makes the MinterDeployment the controlling owner of every object', () => {
    const objects = renderMinter({ minter: base, operatorNamespace });
    expect(objects.length).toBeGreaterThan(5);
    for (const object of objects) {
      expect(object.metadata.namespace).toBe('platform-agent');
      expect(object.metadata.ownerReferences).toEqual([
        expect.objectContaining({ kind: 'MinterDeployment', name: 'minter', uid: base.metadata.uid, controller: true }),
      ]);
    }
  });

  test.each([
    ['inline rules', base],
    ['rules of a ConfigMap', aMinterDeployment({ rules: { configMapRef: { name: 'my-rules' } } })],
  ])('mounts %s so that they are revoked when their ConfigMap is deleted', (_sentence, minter) => {
    const deployment = renderMinter({ minter, operatorNamespace }).find(({ kind }) => kind === 'Deployment');
    expect(deployment).toMatchObject({
      spec: { template: { spec: { volumes: [{ name: 'rules', configMap: { optional: true } }] } } },
    });
  });

  test('renders no service account if the spec says not to create one', () => {
    const minter = aMinterDeployment({ serviceAccount: { create: false, name: 'mine' } });
    const objects = renderMinter({ minter, operatorNamespace });
    expect(renderMinter({ minter: base, operatorNamespace }).map((o) => o.kind)).toContain('ServiceAccount');
    expect(objects.map((o) => o.kind)).not.toContain('ServiceAccount');
    expect(yamlStream(objects)).toContain('serviceAccountName: mine');
  });

  test('takes the URL of the Service as the audience, with https if the minter serves TLS', () => {
    expect(minterUrl(base)).toBe('http://minter.platform-agent.svc.cluster.local:8080');
    expect(minterUrl(aMinterDeployment({ tls: { secretName: 't' } }))).toBe(
      'https://minter.platform-agent.svc.cluster.local:8080',
    );
  });
});

describe('renderMinterRules', () => {
  const rulesOf = (text: string) =>
    parse(text) as { version: string; rule: { if: string }; scope: Record<string, Record<string, unknown>> };

  test('gives a scope without repositories all repositories that the spec declares', () => {
    const spec = aMinterDeployment({ vcs: { ...base.spec.vcs, extraRepositories: ['extra'] } }).spec;
    const rules = rulesOf(renderMinterRules(spec, spec.rules.inline!));
    expect(rules.version).toBe('minty.abcxyz.dev/v2');
    expect(rules.rule.if).toBe('assertion.iss == issuers.google');
    expect(rules.scope['platform-agent-scope']).toEqual({
      rule: { if: "assertion.email in ['platform-agent@demo-project.iam.gserviceaccount.com']" },
      repositories: ['gitops', 'extra'],
      permissions: { contents: 'write', issues: 'write', pull_requests: 'write' },
    });
  });

  test('requires email and subject if subjects are pinned', () => {
    const rules = rulesOf(renderMinterRules(base.spec, { scopes: [scope] }));
    expect(rules.scope['readers']?.['rule']).toEqual({
      if: "assertion.email in ['one@demo-project.iam.gserviceaccount.com', 'two@demo-project.iam.gserviceaccount.com'] && assertion.sub in ['112233']",
    });
  });

  test('writes an issuer other than Google literally into the rule', () => {
    const spec = aMinterDeployment({
      issuer: { url: 'https://issuer.example', jwksURI: 'https://issuer.example/k' },
    }).spec;
    expect(rulesOf(renderMinterRules(spec, { scopes: [scope] })).rule.if).toBe(
      "assertion.iss == 'https://issuer.example'",
    );
  });
});

test('the pods read the largest inline rules that the schema admits', () => {
  const many = (count: number, of: (index: string) => string): string[] =>
    Array.from({ length: count }, (_, i) => of(String(i).padStart(2, '0')));
  const [repository, ...extraRepositories] = many(51, (i) => `${'9'.repeat(98)}${i}`);
  const host = '.iam.gserviceaccount.com';
  const scopes = many(16, (i) => `${'s'.repeat(61)}${i}`).map((name) => ({
    name,
    emails: many(16, (i) => `${'e'.repeat(100)}@${'p'.repeat(151 - host.length)}${i}${host}`),
    subs: many(16, (i) => `${'9'.repeat(62)}${i}`),
    permissions: Object.fromEntries(
      many(20, (i) => `${'p'.repeat(62)}${letters(i)}`).map((key) => [key, 'write' as const]),
    ),
  }));
  const minter = aMinterDeployment({ vcs: { ...base.spec.vcs, repository: repository!, extraRepositories } });
  const text = renderMinterRules(minter.spec, { scopes });
  const read = parseRuleFile('.yaml', Buffer.from(text), { allowWildcard: false });
  expect('fault' in read ? read.fault : read.file.faults).toEqual([]);
  expect('file' in read && read.file.scopes.size).toBe(16);
});

/** Two letters for two digits: a permission's name has no digit. */
const letters = (digits: string): string => digits.replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!);
