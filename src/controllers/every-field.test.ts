import {
  clusterTrafficPolicyKind,
  minterDeploymentKind,
  trafficMonitorKind,
  type ClusterTrafficPolicySpec,
  type MinterDeploymentSpec,
  type TrafficMonitorSpec,
} from '../api/v1alpha1/index.ts';
import { objectSchema } from '../api/schema/crd.ts';
import { readSettings } from '../base/settings.ts';
import { compile, queryLimits } from '../capture/index.ts';
import { minterSettings, minterSettingTable } from '../minter/index.ts';
import { parseRuleFile } from '../minter/rules/rule-file.ts';
import { platformDefaults, renderMinter } from '../render/index.ts';
import { aMinterDeployment } from '../testing/builders/minter-deployment.ts';
import { aMonitor, aNamespace, aPod, aPolicy, aWorld } from '../testing/capture/world.ts';
import { leavesOf, type Leaf, type Spec } from '../testing/spec-leaves.ts';
import { repositoriesInForce, withRegistered } from './minter-deployment/registered-repositories.ts';
import { fromPolicies } from './platform/reconciler.ts';

/**
 * A field that is accepted and changes nothing misleads whoever sets it. So each leaf of a spec is set alone, with only
 * the settings that it depends on. It has to change what nodes or query servers get, what the platform is rendered
 * from, how a minter's pods read their environment and rules, or the verdict on the object.
 */

/** The settings without which a field means nothing, by prefix of its path. */
const details: Readonly<Record<string, Spec>> = {
  'monitor ': { selector: { matchLabels: { app: 'checkout' } } },
  'monitor containers.include': { selector: { matchLabels: { app: 'checkout' } }, http: { routes: ['/a'] } },
  'policy network': { network: { enabled: true } },
  'policy network.acknowledgeCiliumConflict': { network: { enabled: true, source: 'TC' } },
  'policy network.excludeInterfaces': {
    network: { enabled: true, source: 'TC', acknowledgeCiliumConflict: true },
  },
};

/** What the objects within a spec need to have an effect. */
const needs: Readonly<Record<string, Spec>> = {
  'matchExpressions[]': { key: 'app', operator: 'In', values: ['checkout'] },
  'export[]': { endpoint: 'https://b.example/x' },
  'cidrs[]': { cidr: '10.0.0.0/8' },
};
const wholeMinter = aMinterDeployment().spec;
const minterNeeds: Readonly<Record<string, Spec>> = {
  ...needs,
  '': wholeMinter,
  vcs: wholeMinter.vcs,
  kms: wholeMinter.kms,
  issuer: wholeMinter.issuer,
  'scopes[]': wholeMinter.rules.inline!.scopes[0]!,
};

/** Fields without an effect of their own, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'policy limits.maxMonitorsPerNamespace':
    'counts monitors, of which there is one here: capture/compile/check/refusals.test.ts',
  'policy exportAllowList': 'allows what a monitor exports, and there is none here: capture/compile/exports.test.ts',
  'minter kms.provider': 'has one value, gcp, so that others can come; api/v1alpha1/minter-deployment.ts',
  'monitor priority': 'orders monitors that share pods, and there is one here: capture/compile/compile.test.ts',
};

/** The labels that the selectors of `needs` match. */
const selected = { app: 'checkout' };
const namespaces = [aNamespace('pay', { tier: 'critical' }), aNamespace('shop', selected), aNamespace('svc-system')];
const nodes = aWorld().nodes.map(({ name, labels }, i) => ({
  name,
  labels: { ...labels, ...(i === 0 ? selected : {}) },
}));
const pods = [
  aPod('shop/checkout-1', 'node-1', { labels: { app: 'checkout' }, containers: ['main', 'a'] }),
  aPod('shop/cart-1', 'node-1', { labels: { app: 'a' } }),
  aPod('pay/ledger-1', 'node-3'),
];

/** All effects of one policy and one monitor, without what changes with every edit. */
function observed(policy: ClusterTrafficPolicySpec, monitor: TrafficMonitorSpec): string {
  const policies = [aPolicy('p', policy), aPolicy('z', { limits: { maxSeriesPerNode: 50_000 } })];
  const environment = { instrumentVersion: 'v0.10.0', ports: '80,443', allowExtraConfig: true };
  const result = compile(
    aWorld({ environment, namespaces, nodes, policies, pods, monitors: [aMonitor('shop/m', monitor)] }),
  );
  const inForce = policies.map(({ metadata, spec }) => ({ name: metadata.name!, spec }));
  const kept = (name: string, value: unknown): unknown => (/[hH]ash|^digest$/.test(name) ? undefined : value);
  return JSON.stringify(
    [
      [...result.nodes].map(([node, { config, rollout }]) => [node, config, rollout]),
      [...result.monitors.values()].map(({ inForce: _, ...outcome }) => outcome),
      [...result.policies.values()].map(({ inForce: _, ...outcome }) => outcome),
      fromPolicies(platformDefaults, policies),
      queryLimits(inForce, namespaces),
      (monitor as Spec)['autoscaling'],
    ],
    kept,
  );
}

function merged(a: unknown, b: unknown): unknown {
  const isMap = (value: unknown): value is Spec => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMap(a) || !isMap(b)) return b ?? a;
  return Object.fromEntries([...new Set([...Object.keys(a), ...Object.keys(b)])].map((k) => [k, merged(a[k], b[k])]));
}

const detailOf = (kind: string, path: string): Spec => {
  const prefix = Object.keys(details)
    .filter((key) => `${kind} ${path}`.startsWith(key))
    .sort((a, b) => b.length - a.length)[0];
  return prefix === undefined ? {} : details[prefix]!;
};
const baseMonitor: TrafficMonitorSpec = { mode: 'Capture', selector: { matchLabels: { app: 'checkout' } } };

/**
 * All effects of one minter: its objects, with the environment of its pods replaced by the settings that the program
 * reads from it, and its rules by what the program parses. A variable that the program does not know has no effect.
 */
function observedMinter(spec: Spec): string {
  const own = aMinterDeployment(merged(aMinterDeployment().spec, spec) as MinterDeploymentSpec);
  const { names } = repositoriesInForce(own, { repositories: 'registered' });
  const objects = renderMinter({ minter: withRegistered(own, names), operatorNamespace: 'svc-system' });
  return JSON.stringify(objects, (name, value: unknown) => {
    if (name === 'env') return settingsOf(value as EnvVar[]);
    if (name === '.yaml') return rulesOf(value as string);
    if (value instanceof Map || value instanceof Set) return [...value];
    return value;
  });
}

interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: object;
}

const settingsOf = (env: readonly EnvVar[]): unknown[] => {
  const plain = Object.fromEntries(env.map(({ name, value }) => [name, value ?? '1']));
  return [
    minterSettings(readSettings(minterSettingTable, { flags: {}, env: plain, prefix: '' })),
    env.filter(({ valueFrom }) => valueFrom),
  ];
};

const rulesOf = (text: string): unknown => {
  const read = parseRuleFile('.yaml', Buffer.from(text), { allowWildcard: false });
  if ('fault' in read) throw new Error(read.fault.message);
  const { top, scopes, faults } = read.file;
  return { top, scopes, faults };
};

const permissive: ClusterTrafficPolicySpec = { exportAllowList: ['*.example', 'b.example'] };
const kinds = {
  policy: {
    leaves: leavesOf(clusterTrafficPolicyKind, needs),
    observe: (spec: Spec) => observed(spec, baseMonitor),
  },
  monitor: {
    leaves: leavesOf(trafficMonitorKind, needs),
    observe: (spec: Spec) => observed(permissive, { mode: 'Capture', ...spec } as TrafficMonitorSpec),
  },
  minter: { leaves: leavesOf(minterDeploymentKind, minterNeeds), observe: observedMinter },
};

/** The effects, or undefined for a value that the API server's own rules refuse. */
const attempt = (observe: (spec: Spec) => string, spec: Spec): string | undefined => {
  try {
    return observe(spec);
  } catch {
    return undefined;
  }
};

/** Whether two of the specs have different effects. It stops at the first difference. */
const differ = (observe: (spec: Spec) => string, specs: readonly Spec[]): boolean => {
  let first: string | undefined;
  return specs.some((spec) => {
    const outcome = attempt(observe, spec);
    first ??= outcome;
    return outcome !== undefined && outcome !== first;
  });
};

describe.each(Object.entries(kinds))('a %s', (kind, { leaves, observe }) => {
  test.each(leaves.map(({ path, specs, without }) => [path, specs, without] as const))(
    'that sets %s changes something, or is refused',
    (path, specs, without) => {
      expect(specs).not.toEqual([]);
      const context = detailOf(kind, path);
      const effective = differ(
        observe,
        [without, ...specs].map((spec) => merged(context, spec) as Spec),
      );
      expect(effective).toBe(exceptions[`${kind} ${path}`] === undefined);
    },
  );
});

const off = 'what is switched off keeps its settings, for when it is switched on again';
/**
 * Fields that another field makes ineffective, found by setting each together with that other field. `refused`: the
 * message of the schema's rule that refuses them; e2e/api tests the rule on a real API server. `why`: why they are not
 * refused.
 */
const voided: readonly {
  readonly kind: keyof typeof kinds;
  readonly because: Spec;
  readonly fields: readonly RegExp[];
  readonly refused?: string;
  readonly why?: string;
}[] = [
  {
    kind: 'monitor',
    because: { mode: 'Exclude' },
    fields: [/^(priority|signals|protocols|metrics|http|sampling|limits|export|autoscaling)\b/],
    refused: 'Exclude takes only selection fields',
  },
  { kind: 'monitor', because: { suspend: true }, fields: [/./], why: off },
  { kind: 'policy', because: { paused: true }, fields: [/^(capture|defaults|network)\./], why: off },
  { kind: 'policy', because: { network: { enabled: false } }, fields: [/^network\./], why: off },
  {
    kind: 'policy',
    because: { network: { enabled: true, source: 'SocketFilter' } },
    fields: [/^network\.acknowledgeCiliumConflict$/],
    why: 'confirms source: TC, which is not set; capture/compile/check/policy-checks.ts refuses the other field for TC',
  },
  ...[{ enabled: false }, { enabled: true, source: 'SocketFilter' }].map((network) => ({
    kind: 'policy' as const,
    because: { network },
    fields: [/^namespaceSelector\b/],
    why: 'a policy with network and namespaceSelector is refused by capture/compile/check/policy-checks.ts',
  })),
  ...(['All', 'AllowList'] as const).map((mode) => ({
    kind: 'policy' as const,
    because: { capture: { mode } },
    fields: [/^capture\.ports\[\]/],
    refused: 'ports belong to ByPort',
  })),
  {
    kind: 'policy',
    because: { capture: { mode: 'AllowList' } },
    fields: [/^capture\.containersOnly$/],
    why: 'policies of a node are merged field by field: the field has an effect if another policy sets the mode',
  },
  {
    kind: 'minter',
    because: { serviceAccount: { create: false } },
    fields: [/^serviceAccount\.annotations$/],
    refused: 'with create: false annotate the existing one',
  },
  {
    kind: 'minter',
    because: { replicas: 1 },
    fields: [/^podDisruptionBudget$/],
    why: 'true by default; a budget for a single pod would keep its node from being drained',
  },
];

/** Whether a field that has an effect by itself has none when `because` is set too. */
const isVoidBeside = (kind: keyof typeof kinds, because: Spec, leaf: Leaf): boolean => {
  const context = detailOf(kind, leaf.path);
  const beside = [leaf.without, ...leaf.specs].map((spec) => merged(merged(context, spec), because) as Spec);
  return !differ(kinds[kind].observe, beside);
};
const pathsOf = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, member]) => pathsOf(member, path === '' ? name : `${path}.${name}`))
    : [path];
const causes = new Map(voided.map(({ kind, because }) => [`${kind} ${JSON.stringify(because)}`, { kind, because }]));
const schemas = { policy: clusterTrafficPolicyKind, monitor: trafficMonitorKind, minter: minterDeploymentKind };

test.each([...causes.values()].map(({ kind, because }) => [kind, because] as const))(
  'a field that has no effect in a %s together with %j is refused, or listed with the reason',
  (kind, because) => {
    const own = voided.filter((one) => one.kind === kind && JSON.stringify(one.because) === JSON.stringify(because));
    const untold = kinds[kind].leaves
      .filter(({ path }) => exceptions[`${kind} ${path}`] === undefined && !pathsOf(because).includes(path))
      .filter(({ path }) => !own.some(({ fields }) => fields.some((field) => field.test(path))))
      .filter((leaf) => isVoidBeside(kind, because, leaf))
      .map(({ path }) => path);
    expect(untold).toEqual([]);
    const text = JSON.stringify(objectSchema(schemas[kind]));
    expect(
      own.filter(({ refused, why = '' }) => (refused === undefined ? why === '' : !text.includes(refused))),
    ).toEqual([]);
  },
);
