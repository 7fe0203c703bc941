import { jest } from '@jest/globals';
import { RE2JS } from 're2js';
import type { ClusterTrafficPolicySpec, TrafficMonitor, TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { aMonitor, aNamespace, aPolicy, aWorld } from '../../../testing/capture/world.ts';
import { parseCaptureConfig } from '../../capture-config.ts';
import { compile } from '../compile.ts';

const whole: TrafficMonitorSpec = { mode: 'Capture', selector: {} };
const judge = (spec: Partial<TrafficMonitorSpec>) =>
  compile(aWorld({ monitors: [aMonitor('shop/m', spec)] })).monitors.get('shop/m')!;
const judgePolicy = (spec: ClusterTrafficPolicySpec, instrumentVersion = 'v0.10.0') =>
  compile(aWorld({ policies: [aPolicy('p', spec)], environment: { instrumentVersion, ports: '80' } })).policies.get(
    'p',
  )!;

describe('a monitor is refused', () => {
  test.each<[string, Partial<TrafficMonitorSpec>, string, RegExp]>([
    ['when it selects nothing', {}, 'Invalid', /^spec: select something/],
    [
      'for a selector operator that the instrument does not have',
      { selector: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] } },
      'UnsupportedSelector',
      /NotIn/,
    ],
    [
      'for a wildcard as a label value',
      { selector: { matchLabels: { app: '*' } } },
      'UnsafeSelector',
      /matchLabels\[0\]/,
    ],
    ['for braces in a label value', { selector: { matchLabels: { app: 'a,b}' } } }, 'UnsafeSelector', /matchLabels/],
    ['for an empty label value', { selector: { matchLabels: { app: '' } } }, 'UnsafeSelector', /empty/],
    ['for an invalid label key', { selector: { matchLabels: { 'a: b': 'c' } } }, 'UnsafeSelector', /label key/],
    [
      'for In without values',
      { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      'UnsafeSelector',
      /In for a needs a value/,
    ],
    [
      'for a workload name with braces',
      { workloads: [{ kind: 'Pod', name: '{a,b}' }] },
      'UnsafeSelector',
      /workloads\[0\]\.name/,
    ],
    [
      'for a container name with a dollar sign',
      { ...whole, containers: { include: ['$HOME'] } },
      'UnsafeSelector',
      /include\[0\]/,
    ],
    ['for a route with an open brace', { ...whole, http: { routes: ['/a', '/b/{c'] } }, 'Invalid', /routes\[1\]/],
    ['for a route with a shell variable', { ...whole, http: { routes: ['/${HOME}'] } }, 'Invalid', /routes\[0\]/],
    ['for an interval of years', { ...whole, metrics: { interval: '99999999h' } }, 'Invalid', /metrics\.interval/],
    [
      'for headers that no policy allows',
      { ...whole, http: { headers: { capture: ['x-a'] } } },
      'Invalid',
      /^spec\.http\.headers\.capture\[0\]: "x-a" is allowed by no policy/,
    ],
    [
      'for an invalid header name',
      { ...whole, http: { headers: { capture: ['x-a: ${HOME}'] } } },
      'Invalid',
      /capture\[0\]: .* is not the name of a header/,
    ],
    [
      'for leaving out an identity label',
      { ...whole, metrics: { labels: { exclude: ['url_scheme', 'k8s_namespace_name'] } } },
      'Invalid',
      /^spec\.metrics\.labels\.exclude\[1\]: "k8s_namespace_name" says which namespace, pod or node a series belongs to/,
    ],
    [
      'for an export in plain text outside the cluster',
      { ...whole, export: [{ name: 'a', type: 'OTLP', endpoint: 'http://example.com' }] },
      'Invalid',
      /^spec\.export\[0\]\.endpoint: must be https/,
    ],
    [
      'for an export with credentials in its address',
      { ...whole, export: [{ name: 'a', type: 'OTLP', endpoint: 'https://u:p@example.com' }] },
      'Invalid',
      /^spec\.export\[0\]\.endpoint: credentials/,
    ],
    [
      'for a path that agents of version 0.1.0 find too long, which count an emoji twice',
      { ...whole, http: { ignorePaths: ['/a', `/${'😀'.repeat(128)}`] } },
      'Invalid',
      /^spec\.http\.ignorePaths\[1\]: .* has 257 UTF-16 code units, and agents of version 0\.1\.0 take 256$/,
    ],
    [
      'for an address of an export that they find too long',
      { ...whole, export: [{ name: 'a', type: 'OTLP', endpoint: `https://x/${'😀'.repeat(252)}` }] },
      'Invalid',
      /^spec\.export\[0\]\.endpoint: .* has 514 UTF-16 code units/,
    ],
    [
      'for a label of an export that they find too long',
      { ...whole, export: [{ name: 'a', type: 'OTLP', endpoint: 'https://x', labels: { a: '😀'.repeat(129) } }] },
      'Invalid',
      /^spec\.export\[0\]\.labels\[0\]: .* has 258 UTF-16 code units/,
    ],
  ])('%s', (_when, spec, reason, message) => {
    const outcome = judge(spec);
    expect(outcome.accepted).toMatchObject({ ok: false, reason });
    expect(outcome.accepted.message).toMatch(message);
    expect(outcome.inForce).toBeNull();
  });

  test('but not for a field that only the agents apply, which is accepted without a note', () => {
    const sampling = { ratio: '0.1', keepErrors: true };
    const spec: TrafficMonitorSpec = { ...whole, sampling, protocols: ['SQL'], limits: { maxSpansPerSecond: 5 } };
    expect(judge({ ...spec, metrics: { labels: { podLabels: ['team'] } } }).accepted).toEqual({
      ok: true,
      reason: 'Accepted',
      message: '',
    });
  });

  test('and its last accepted spec stays in force', () => {
    const good: TrafficMonitorSpec = { mode: 'Capture', selector: { matchLabels: { app: 'checkout' } } };
    const bad = aMonitor('shop/m', {}, { generation: 7, status: { lastAcceptedSpec: good } });
    const result = compile(aWorld({ monitors: [bad] }));
    expect(result.monitors.get('shop/m')).toMatchObject({
      accepted: { ok: false },
      inForce: good,
      matchedPods: 2,
      configHash: expect.any(String) as string,
    });
    expect(result.nodes.get('node-1')!.config.monitors).toHaveLength(1);
    expect(result.nodes.get('node-1')!.config.generations).toEqual({});
  });

  test('and of its last accepted spec, members that the schema does not know or that are null do not count', () => {
    const good: TrafficMonitorSpec = { mode: 'Capture', selector: { matchLabels: { app: 'checkout' } } };
    const last = { ...good, selector: { ...good.selector, matchExpressions: null }, ports: null, former: [1] } as never;
    const bad = aMonitor('shop/m', {}, { status: { lastAcceptedSpec: last } });
    expect(compile(aWorld({ monitors: [bad] })).monitors.get('shop/m')!.inForce).toEqual(good);
  });

  test('when a policy allows no monitors in its namespace, and then no old spec stays in force', () => {
    const result = compile(
      aWorld({
        policies: [aPolicy('p', { monitorNamespaces: { matchLabels: { tier: 'critical' } } })],
        monitors: [aMonitor('shop/m', whole, { status: { lastAcceptedSpec: whole } }), aMonitor('pay/m', whole)],
      }),
    );
    expect(result.monitors.get('shop/m')).toMatchObject({ accepted: { reason: 'NamespaceNotAllowed' }, inForce: null });
    expect(result.monitors.get('shop/m')).not.toHaveProperty('configHash');
    expect(result.monitors.get('pay/m')!.accepted.ok).toBe(true);
  });

  test('when its namespace has the maximum of older monitors', () => {
    const result = compile(
      aWorld({
        policies: [aPolicy('p', { limits: { maxMonitorsPerNamespace: 1 } })],
        monitors: [
          aMonitor('shop/young', whole, { creationTimestamp: '2026-02-01T00:00:00Z' }),
          aMonitor('shop/old', whole),
        ],
      }),
    );
    expect(result.monitors.get('shop/old')!.accepted.ok).toBe(true);
    expect(result.monitors.get('shop/young')!.accepted.reason).toBe('NamespaceNotAllowed');
  });

  test.each<[string, TrafficMonitor]>([
    ['', aMonitor('shop/bad', {})],
    [
      ', also when its last accepted spec cannot be read',
      aMonitor('shop/bad', {}, { status: { lastAcceptedSpec: { selector: {}, workloads: [null] } as never } }),
    ],
    ...[
      { selector: {}, ports: [null] },
      { selector: {}, containers: { include: 'main' } },
      { selector: {}, protocols: 'HTTP' },
      { selector: {}, sampling: { ratio: 1 } },
      { selector: {}, workloads: [{ kind: 'Pod', name: 'a'.repeat(300) }] },
      { selector: {}, metrics: { families: [7] } },
    ].map((last): [string, TrafficMonitor] => [
      `, nor has its last accepted spec ${JSON.stringify(last).slice(0, 60)}, which the schema does not admit`,
      aMonitor('shop/bad', {}, { status: { lastAcceptedSpec: last as never } }),
    ]),
  ])('without any effect on other monitors%s', (_when, bad) => {
    const result = compile(aWorld({ monitors: [bad, aMonitor('shop/good', whole)] }));
    expect(result.nodes.get('node-1')!.config.monitors.map((r) => r.name)).toEqual(['good']);
  });
});

describe('a policy is refused', () => {
  const scoped = { namespaceSelector: { matchLabels: { tier: 'critical' } } };
  test.each<[string, ClusterTrafficPolicySpec, RegExp]>([
    ['for an exclusion that names nothing', { exclusions: [{}] }, /exclusions\[0\]/],
    ['for an exclusion with a brace', { exclusions: [{ namespaces: ['{a'] }] }, /exclusions\[0\]\.namespaces\[0\]/],
    ['for an invalid label key in an exclusion', { exclusions: [{ podLabels: { 'a\nb': 'c' } }] }, /podLabels/],
    ['for an executable with a space', { exclusions: [{ executables: ['/bin/a b'] }] }, /executables/],
    ['for a cluster name with a shell variable', { instrument: { clusterName: '${HOME}' } }, /clusterName: /],
    ['for a query parameter with a bracket', { redaction: { queryParams: { add: ['a[b]'] } } }, /queryParams\.add/],
    ['for TC without the acknowledgement', { network: { source: 'TC' } }, /acknowledgeCiliumConflict/],
    ['for interface filters, which work with TC only', { network: { excludeInterfaces: ['lo'] } }, /excludeInterfaces/],
    ['for an address range that does not exist', { network: { cidrs: [{ cidr: '300.0.0.0/8' }] } }, /cidrs\[0\]/],
    ['for a prefix length that Go does not read', { network: { cidrs: [{ cidr: '10.0.0.0/08' }] } }, /cidrs\[0\]/],
    ['for a port that does not exist', { instrument: { kubeMetaCache: 'cache:99999' } }, /kubeMetaCache: .* host:port/],
    ['for a flow attribute that does not exist', { network: { attributes: ['dst.prot'] } }, /dst\.prot/],
    ['for buckets that do not ascend', { http: { histogram: { durationBuckets: ['1s', '5ms'] } } }, /durationBuckets/],
    [
      'for a node-wide setting in a policy of some namespaces',
      { ...scoped, http: { unmatched: 'Path' } },
      /^spec\.http: exists once per node/,
    ],
    [
      'for a node-wide ceiling in a policy of some namespaces',
      { ...scoped, limits: { maxSeriesPerNode: 5 } },
      /limits\.maxSeriesPerNode/,
    ],
    [
      'for capturing processes outside of containers in a policy of some namespaces',
      { ...scoped, capture: { containersOnly: false } },
      /containersOnly/,
    ],
    [
      'for a default route with a dollar sign',
      { defaults: { http: { routes: ['/$(A)'] } } },
      /defaults\.http\.routes\[0\]/,
    ],
    [
      'for a path rewrite that is not an RE2 expression',
      { redaction: { paths: [{ pattern: '(a', replacement: 'b' }] } },
      /^spec\.redaction\.paths\[0\]\.pattern: /,
    ],
    [
      'for a path rewrite that names a group it does not have',
      { redaction: { paths: [{ pattern: '/u/(a)', replacement: '/u/$2' }] } },
      /^spec\.redaction\.paths\[0\]\.replacement: \$2 /,
    ],
    [
      'for an export whose label would hide the name of a metric',
      { export: [{ name: 'a', type: 'OTLP', endpoint: 'https://x', labels: { __name__: 'm' } }] },
      /^spec\.export\[0\]\.labels/,
    ],
  ])('%s', (_when, spec, message) => {
    const outcome = judgePolicy(spec);
    expect(outcome.accepted).toMatchObject({ ok: false, reason: 'Invalid' });
    expect(outcome.accepted.message).toMatch(message);
  });

  test('for extraConfig that is not allowed, with the reason ExtraConfigNotAllowed', () => {
    expect(judgePolicy({ instrument: { extraConfig: { a: 1 } } }).accepted.reason).toBe('ExtraConfigNotAllowed');
  });

  test('never for redacted query parameters: where the instrument cannot redact them, the agent does', () => {
    const spec: ClusterTrafficPolicySpec = { redaction: { queryParams: { add: ['token'] } } };
    expect(judgePolicy(spec, 'v0.9.0').accepted.ok).toBe(true);
    expect(judgePolicy(spec, 'v0.10.0').accepted.ok).toBe(true);
  });

  describe('for a path rewrite that is dear to compile', () => {
    const dear = '/u/[\\p{L}\\p{N}_-]{1,64}';
    const redacting = (...patterns: string[]): ClusterTrafficPolicySpec => ({
      exclusions: [{ namespaces: ['pay'] }],
      redaction: { paths: patterns.map((pattern) => ({ pattern, replacement: '/u/*' })) },
    });
    const outcomeOf = (spec: ClusterTrafficPolicySpec, lastAcceptedSpec: ClusterTrafficPolicySpec) => {
      const stored = aPolicy('p', spec, { status: { lastAcceptedSpec } });
      return compile(aWorld({ policies: [stored] })).policies.get('p')!;
    };

    test('when it is new, and it is not compiled', () => {
      const compileText = jest.spyOn(RE2JS, 'compile');
      const pattern = '(?:.{1,1000})'.repeat(19);
      const outcome = outcomeOf(redacting(pattern), redacting('/u/[0-9]+'));
      const compiled = compileText.mock.calls.filter(([text]) => text === pattern).length;
      compileText.mockRestore();
      expect(compiled).toBe(0);
      expect(outcome.inForce).toEqual(redacting('/u/[0-9]+'));
      expect(outcome.accepted).toEqual({
        ok: false,
        reason: 'Invalid',
        message:
          'spec.redaction.paths[0].pattern: regular expression is too large: 247 characters cost 399038, at most 20000',
      });
    });

    test('but not when an earlier version has accepted it', () => {
      const spec = { ...redacting('/a', dear), paused: true };
      expect(outcomeOf(redacting(dear), redacting(dear))).toMatchObject({
        accepted: { ok: true },
        inForce: redacting(dear),
      });
      expect(outcomeOf(spec, redacting(dear))).toMatchObject({ accepted: { ok: true }, inForce: spec });
    });

    test('but a last accepted spec with one stays in force', () => {
      const outcome = outcomeOf({ exclusions: [{}] }, redacting(dear));
      expect(outcome).toMatchObject({ accepted: { ok: false }, inForce: redacting(dear) });
    });
  });

  test('and the exclusions of its last accepted spec stay in force', () => {
    const good: ClusterTrafficPolicySpec = { exclusions: [{ namespaces: ['pay'] }] };
    const bad = aPolicy('p', { exclusions: [{}] }, { status: { lastAcceptedSpec: good } });
    const yaml = compile(aWorld({ policies: [bad] })).nodes.get('node-1')!.config.instrument.yaml;
    expect(yaml).toContain('- k8s_namespace: pay');
  });

  test('and its last accepted spec stays in force, though a CEL rule has become stricter since', () => {
    const old: ClusterTrafficPolicySpec = { retention: { metrics: { size: '512Ki' } } };
    const bad = aPolicy('p', { exclusions: [{}] }, { status: { lastAcceptedSpec: old } });
    expect(compile(aWorld({ policies: [bad] })).policies.get('p')!.inForce).toEqual(old);
  });

  test.each([
    { exclusions: [null] },
    { exclusions: [{ ports: [null] }] },
    { redaction: { headers: { allow: 'x' } } },
    { defaults: { protocols: 'HTTP' } },
    { limits: { maxMonitorsPerNamespace: 'x' } },
    { capture: { ports: [null] } },
    { nodeSelector: { matchExpressions: [null] } },
    { namespaceSelector: { matchExpressions: [null] } },
    { defaults: { protocols: ['Former'] } },
    { defaults: { sampling: { ratio: 'half' } } },
    { limits: { onLimit: 'Former' } },
    { limits: { maxSeriesPerNode: -1 } },
    { capture: { ports: [] } },
    { rollout: { maxUnavailable: 1e10 } },
    { redaction: { paths: [{ pattern: '', replacement: '/' }] } },
  ])('alone, when its last accepted spec cannot be used either: %j', (last) => {
    const stored = last as unknown as ClusterTrafficPolicySpec;
    const bad = aPolicy('bad', { exclusions: [{}] }, { status: { lastAcceptedSpec: stored } });
    const good = aPolicy('good', { exclusions: [{ namespaces: ['pay'] }] });
    const { policies, nodes } = compile(aWorld({ policies: [bad, good] }));
    expect(policies.get('bad')).toMatchObject({ accepted: { ok: false, reason: 'Invalid' }, inForce: null });
    expect(policies.get('good')!.accepted.ok).toBe(true);
    const { config } = nodes.get('node-1')!;
    expect(config.instrument.yaml).toContain('- k8s_namespace: pay');
    expect(parseCaptureConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
  });

  test('alone, when it was stored without what the schema requires, and the message says what failed', () => {
    const stored = aPolicy('bad', { exclusions: [null] } as unknown as ClusterTrafficPolicySpec);
    const { policies } = compile(aWorld({ policies: [stored, aPolicy('good', {})] }));
    expect(policies.get('bad')).toMatchObject({
      accepted: { ok: false, reason: 'Invalid', message: expect.stringMatching(/^spec: cannot be read: /) as string },
      inForce: null,
    });
    expect(policies.get('good')!.accepted.ok).toBe(true);
  });

  test('without any effect on the files of the nodes', () => {
    const result = compile(
      aWorld({ policies: [aPolicy('p', { exclusions: [{}] })], namespaces: [aNamespace('shop')] }),
    );
    const without = compile(aWorld({ namespaces: [aNamespace('shop')] }));
    const files = (of: typeof result): unknown => [...of.nodes].map(([name, { config }]) => [name, config.instrument]);
    expect(result.nodes.size).toBe(3);
    expect(files(result)).toEqual(files(without));
  });
});
