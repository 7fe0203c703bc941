import type { Condition, KubeObject } from '../../api/meta.ts';
import type { MinterDeployment } from '../../api/v1alpha1/index.ts';
import type { MinterCheck, MinterReadiness } from '../../api/v1alpha1/minter-readiness.ts';
import type { Refusal } from '../refusal.ts';
import { judgeAppCredentials, unreadableAppCredentials } from './app-credentials.ts';
import { planMinterStatus, type MinterFacts } from './plan.ts';
import { parseReadiness } from './readiness-client.ts';

const now = Date.UTC(2026, 5, 1, 12);
const keyVersion = 'projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1';

const minter = (status?: MinterDeployment['status']): MinterDeployment =>
  ({
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'MinterDeployment',
    metadata: { name: 'minter', namespace: 'agents', generation: 4, uid: 'u' },
    spec: {
      kms: { provider: 'gcp', keyVersion },
      rules: { configMapRef: { name: 'rules' } },
      serviceAccount: { create: true },
    },
    ...(status ? { status } : {}),
  }) as MinterDeployment;

const check = (type: MinterCheck['type'], status: MinterCheck['status'], reason: string): MinterCheck =>
  ({ type, status, reason, message: `${type} is ${reason}`, since: 'x' }) as MinterCheck;
const good = [
  check('RulesValid', 'True', 'Valid'),
  check('KeyEnabled', 'True', 'Enabled'),
  check('KeyMatchesApp', 'True', 'Matches'),
  check('InstallationFound', 'True', 'Found'),
];
const answer = (over: MinterCheck[] = [], rest: Partial<MinterReadiness> = {}): MinterReadiness => ({
  ready: true,
  gates: { rules: true, key: true, app: true },
  checks: good.map((c) => over.find((o) => o.type === c.type) ?? c),
  keyVersion,
  rulesHash: 'abc',
  scopes: ['a', 'b'],
  installationId: 7,
  jwks: { ageSeconds: 1 },
  ...rest,
});
const deployment: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'minter', namespace: 'agents', generation: 2 },
  spec: { replicas: 2 },
  status: {
    observedGeneration: 2,
    replicas: 2,
    readyReplicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
    conditions: [
      { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'ok' },
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: 'ok' },
    ],
  },
};
const found = { type: 'AppCredentialsFound', status: 'True', reason: 'Found', message: 'ok' } as const;
const facts = (over: Partial<MinterFacts> = {}): MinterFacts => ({
  minter: minter(),
  deployment,
  appCredentials: found,
  rulesSourceFound: true,
  answers: [answer(), answer()],
  pods: 2,
  applyFailures: [],
  now,
  ...over,
});
const refused = (reason: Refusal['reason'], stalled: boolean): Refusal => ({ reason, stalled, message: 'no right' });
const condition = (over: Partial<MinterFacts>, type: string): Condition | undefined =>
  planMinterStatus(facts(over)).status.conditions.find((c) => c.type === type);

test('a healthy minter is Ready, with everything that the pods reported, and nothing in progress', () => {
  const { status, ready } = planMinterStatus(facts());
  expect(ready).toBe('True');
  expect(status).toMatchObject({
    observedGeneration: 4,
    url: 'http://minter.agents.svc.cluster.local:8080',
    keyVersion,
    replicas: 2,
    readyReplicas: 2,
    rulesHash: 'abc',
    scopes: 2,
    installationId: 7,
  });
  const types = status.conditions.map((c) => c.type);
  expect(types.filter((type) => type === 'Stalled' || type === 'Reconciling')).toEqual([]);
  expect(status.conditions.every((c) => c.observedGeneration === 4)).toBe(true);
});

test.each<[string, Partial<MinterFacts>, string, string]>([
  ['no pod has answered', { deployment: undefined, answers: [], pods: 0 }, 'Unknown', 'NoPodAnswered'],
  [
    'the Secret is missing',
    { appCredentials: { ...found, status: 'False', reason: 'SecretNotFound' }, answers: [] },
    'False',
    'SecretNotFound',
  ],
  ['a rule names a repository outside the spec', { outsideSpec: 'x' }, 'False', 'RepositoryOutsideSpec'],
  ['the rules are missing', { rulesSourceFound: false, answers: [] }, 'False', 'ConfigMapNotFound'],
  [
    'one pod of two has a disabled key',
    { answers: [answer(), answer([check('KeyEnabled', 'False', 'Disabled')])] },
    'False',
    'Disabled',
  ],
  [
    'one pod says Unknown and another False',
    {
      answers: [
        answer([check('KeyMatchesApp', 'Unknown', 'PlatformUnreachable')]),
        answer([check('KeyMatchesApp', 'False', 'WrongApp')]),
      ],
    },
    'False',
    'WrongApp',
  ],
  [
    'the platform is unreachable',
    { answers: [answer([check('InstallationFound', 'Unknown', 'PlatformUnreachable')])] },
    'Unknown',
    'PlatformUnreachable',
  ],
  [
    'the NetworkPolicy cannot be applied',
    { applyFailures: [{ kind: 'NetworkPolicy', refusal: refused('Forbidden', true) }] },
    'False',
    'ApplyFailed',
  ],
  [
    'the Deployment cannot be applied',
    { applyFailures: [{ kind: 'Deployment', refusal: refused('ApplyFailed', false) }] },
    'False',
    'ApplyFailed',
  ],
])('the Ready condition tells that %s', (_what, over, status, reason) => {
  expect(condition(over, 'Ready')).toMatchObject({ status, reason });
});

test('the message for a key that was never imported contains the command that imports it', () => {
  const over = { answers: [answer([check('KeyEnabled', 'False', 'NotFound')])] };
  expect(condition(over, 'KeyEnabled')?.message).toContain(
    'minter tools import-pk --project-id p --location global --key-ring r --key k',
  );
  expect(condition(over, 'Stalled')).toMatchObject({ status: 'True', reason: 'MissingDependency' });
});

test('the command quotes what a shell would interpret, of an object that is older than the rule for names of keys', () => {
  const spec = { ...minter().spec, kms: { provider: 'gcp', keyVersion: keyVersion.replace('/k/', "/$(id)'; x/") } };
  const over = {
    minter: { ...minter(), spec } as MinterDeployment,
    answers: [answer([check('KeyEnabled', 'False', 'NotFound')])],
  };
  expect(condition(over, 'KeyEnabled')?.message).toContain(
    `minter tools import-pk --project-id p --location global --key-ring r --key '$(id)'\\''; x' --private-key @FILE`,
  );
});

test('Ready itself says that the key is missing and how to import it', () => {
  const message = 'the key version does not exist';
  const over = { answers: [answer([{ ...check('KeyEnabled', 'False', 'NotFound'), message }])] };
  const ready = condition(over, 'Ready');
  expect(ready).toMatchObject({ status: 'False', reason: 'NotFound' });
  expect(ready?.message).toContain(message);
  expect(ready?.message).toContain('minter tools import-pk --project-id p');
});

test('the last error of a crashing pod appears in Available, and so in Ready', () => {
  const crash = 'container minter of pod minter-a ended with code 1: VCS_APP_ID: not a number';
  const unavailable = { type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable', message: 'too few' };
  const over = { answers: [], crash, deployment: withStatus({ conditions: [unavailable] }) };
  const message = `too few; ${crash}`;
  expect(condition(over, 'Ready')).toMatchObject({ status: 'False', reason: 'MinimumReplicasUnavailable', message });
  expect(condition(over, 'Available')).toMatchObject({ status: 'False', message });
});

test('the message of a condition says how many pods gave the worst answer', () => {
  const over = { answers: [answer(), answer([check('RulesValid', 'False', 'FileFaulty')])] };
  expect(condition(over, 'RulesValid')?.message).toBe('RulesValid is FileFaulty (1 of 2 pods)');
  const ignored = { answers: [answer()], ignored: 'ConfigMap gitops-state registers x' };
  expect(condition(ignored, 'RulesValid')).toMatchObject({
    status: 'True',
    message: 'RulesValid is Valid; ConfigMap gitops-state registers x',
  });
});

const withStatus = (over: object): KubeObject => ({
  ...deployment,
  status: { ...(deployment['status'] as object), ...over },
});
const replicaFailure = (message: string): KubeObject =>
  withStatus({ conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }] });

test.each<[string, Partial<MinterFacts>, string, string]>([
  [
    'a right that is missing',
    { applyFailures: [{ kind: 'Deployment', refusal: refused('Forbidden', true) }] },
    'Forbidden',
    'no right',
  ],
  [
    'a quota',
    { applyFailures: [{ kind: 'Service', refusal: refused('QuotaExceeded', true) }] },
    'QuotaExceeded',
    'no right',
  ],
  ['a quota on pods', { deployment: replicaFailure('exceeded quota: small') }, 'QuotaExceeded', 'small'],
  [
    'a webhook that refuses pods',
    { deployment: replicaFailure('admission webhook "a" denied the request') },
    'AdmissionDenied',
    'denied',
  ],
  [
    'a Secret that the operator may not read',
    { appCredentials: unreadableAppCredentials({ name: 's' }, 'no').condition },
    'Forbidden',
    'the operator may not read Secret s; grant it: no',
  ],
  ['a certificate that is not there', { missing: 'Secret tls is missing' }, 'MissingDependency', 'Secret tls'],
  ['an image that cannot be pulled', { imagePull: 'the image x cannot be pulled' }, 'ImagePullFailed', 'the image x'],
])('a minter is Stalled because of %s, with a reason of its own', (_what, over, reason, message) => {
  const stalled = condition(over, 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason });
  expect(stalled?.message).toContain(message);
  expect(condition(over, 'Reconciling')).toBeUndefined();
});

test('a rollout that has not ended is Reconciling, though old pods still mint', () => {
  const moving = withStatus({ updatedReplicas: 1, replicas: 3 });
  expect(condition({ deployment: moving }, 'Ready')).toMatchObject({ status: 'True' });
  expect(condition({ deployment: moving }, 'Reconciling')).toMatchObject({
    reason: 'Progressing',
    message: '1 of 2 pods are of this generation, 2 are available',
  });
});

test('a node whose clock is wrong is Reconciling: it is set right without a change of the object', () => {
  const over = { answers: [answer(), answer([check('KeyMatchesApp', 'False', 'ClockSkew')])] };
  const message = 'KeyMatchesApp is ClockSkew (1 of 2 pods)';
  expect(condition(over, 'Ready')).toMatchObject({ status: 'False', reason: 'ClockSkew', message });
  expect(condition(over, 'Stalled')).toBeUndefined();
  expect(condition(over, 'Reconciling')).toMatchObject({ reason: 'Progressing', message });
});

test('the status of an older Deployment generation is ignored', () => {
  const stale = { ...deployment, metadata: { ...deployment.metadata, generation: 3 } };
  expect(condition({ deployment: stale }, 'Available')).toMatchObject({
    status: 'Unknown',
    reason: 'DeploymentPending',
  });
});

test('while no pod answers, the status keeps what the pods reported before', () => {
  const before = planMinterStatus(facts()).status;
  const { status } = planMinterStatus(facts({ minter: minter(before), answers: [], pods: 0 }));
  expect(status).toMatchObject({ keyVersion, rulesHash: 'abc', scopes: 2, installationId: 7 });
});

test('the time of the last mint moves once a minute, not with every mint', () => {
  const at = (s: number): string => new Date(now + s * 1000).toISOString();
  const first = planMinterStatus(facts({ answers: [answer([], { lastMintTime: at(0) })] })).status;
  const plan = (seconds: number): string | undefined =>
    planMinterStatus(
      facts({ minter: minter(first), now: now + seconds * 1000, answers: [answer([], { lastMintTime: at(seconds) })] }),
    ).status.lastMintTime;
  expect(plan(30)).toBe(at(0));
  expect(plan(61)).toBe(at(61));
});

describe('a time after now, of a pod whose clock ran ahead,', () => {
  const at = (s: number): string => new Date(now + s * 1000).toISOString();
  const fails = (s: number): Partial<MinterReadiness> => ({ lastMintError: { reason: `at_${s}`, time: at(s) } });
  const ahead = answer([], { lastMintTime: at(86_400), ...fails(86_400) });

  test('is shown while no other is known, and gives way to the next mint and the next failure', () => {
    const { status } = planMinterStatus(facts({ answers: [ahead] }));
    expect(status).toMatchObject({ lastMintTime: at(86_400), lastMintError: { reason: 'at_86400' } });
    const later = facts({ minter: minter(status), answers: [answer([], { lastMintTime: at(0), ...fails(-5) })] });
    expect(planMinterStatus(later).status).toMatchObject({ lastMintTime: at(0), lastMintError: { reason: 'at_-5' } });
  });

  test('hides no mint and no failure of the other pods', () => {
    const answers = [answer([], { lastMintTime: at(-9), ...fails(-9) }), ahead];
    expect(planMinterStatus(facts({ answers })).status).toMatchObject({
      lastMintTime: at(-9),
      lastMintError: { reason: 'at_-9', time: at(-9) },
    });
  });

  test.each([
    ['the only minter is a little ahead', -300, [18], 18],
    ['one minter is a little ahead, and another idle', -300, [18, -3_600], 18],
    ['the only minter is far ahead', -300, [3_600], 3_600],
    ['the time shown is ahead itself', 18, [23], 18],
    ['the time shown is ahead by more than the mints', 82, [23], 82],
    ['a minter forgot its mints in a restart', -300, [-3_600], -300],
  ])('moves in steps of a minute where %s', (_where, shown, mints, expected) => {
    const before = minter({ lastMintTime: at(shown) });
    const answers = mints.map((s) => answer([], { lastMintTime: at(s) }));
    expect(planMinterStatus(facts({ minter: before, answers })).status.lastMintTime).toBe(at(expected));
  });
});

test('equal facts give an equal status, whatever the time', () => {
  const first = planMinterStatus(facts()).status;
  const second = planMinterStatus(facts({ minter: minter(first), now: now + 3_600_000 })).status;
  expect(second).toEqual(first);
});

const secret = (data: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's' },
  data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
});
test('a key that has the name of a member of every JavaScript object is missing like any other', () => {
  const judged = judgeAppCredentials(secret({ other: '1' }), { name: 's', key: 'constructor' });
  expect(judged.condition.reason).toBe('KeyMissing');
});

test.each<[string, KubeObject | undefined, string]>([
  ['is missing', undefined, 'SecretNotFound'],
  ['lacks the key', secret({ other: '1' }), 'KeyMissing'],
  ['holds a name', secret({ 'app-id': 'my-app' }), 'NotNumeric'],
  ['holds nothing', secret({ 'app-id': '' }), 'NotNumeric'],
  ['holds zero', secret({ 'app-id': '0' }), 'NotNumeric'],
  ['holds a number that no minter takes', secret({ 'app-id': '9999999999999999' }), 'NotNumeric'],
  ['holds a number of too many digits', secret({ 'app-id': '9999999999999999999' }), 'NotNumeric'],
  ['holds a number with a newline', secret({ 'app-id': '12345\n' }), 'Found'],
])('the verdict on a Secret that %s', (_what, object, reason) => {
  const result = judgeAppCredentials(object, { name: 's', key: 'app-id' });
  expect(result.condition.reason).toBe(reason);
  expect(JSON.stringify(result)).not.toContain('12345');
  expect(result.hash === undefined).toBe(reason !== 'Found');
});

test.each<[string, string, RegExp]>([
  ['no JSON', '<html>', /not JSON/],
  ['no checks', '{"ready":true}', /checks/],
  ['a check of an unknown type', '{"ready":true,"checks":[{"type":"Weather"}]}', /checks\[\]\.type/],
  [
    'a reason that the API would refuse',
    '{"ready":true,"checks":[{"type":"RulesValid","status":"True","reason":"no good","message":""}]}',
    /checks\[RulesValid\]\.reason/,
  ],
  ...(
    [
      ['a key version of another type', { keyVersion: 1 }, /keyVersion/],
      ['a key version that the API would refuse', { keyVersion: 'k'.repeat(513) }, /keyVersion/],
      ['an installation that is no number', { installationId: '7' }, /installationId/],
      ['a negative installation', { installationId: -1 }, /installationId/],
      ['a check without a reason', { checks: [{ ...good[0], reason: undefined }] }, /checks\[RulesValid\]\.reason/],
      [
        'a check whose reason is a list',
        { checks: [{ ...good[0], reason: ['Valid'] }] },
        /checks\[RulesValid\]\.reason/,
      ],
      ['a time of the last mint that is not a time', { lastMintTime: 'yesterday' }, /lastMintTime/],
      ['a last mint on 31 February', { lastMintTime: '2026-02-31T00:00:00Z' }, /lastMintTime/],
      ['a failed mint that is a text', { lastMintError: 'status_500' }, /lastMintError/],
      ['a failed mint without reason', { lastMintError: { time: '2026-01-01T00:00:00Z' } }, /lastMintError/],
      ['a failed mint without time', { lastMintError: { reason: 'status_500' } }, /lastMintError/],
      [
        'a failed mint whose time is not a time',
        { lastMintError: { reason: 'status_500', time: 'now' } },
        /lastMintError/,
      ],
      [
        'a failed mint at 24:00',
        { lastMintError: { reason: 'status_500', time: '2026-01-01T24:00:00Z' } },
        /lastMintError/,
      ],
      ['a failed mint that is null', { lastMintError: null }, /lastMintError/],
    ] as [string, object, RegExp][]
  ).map(([what, over, message]): [string, string, RegExp] => [what, JSON.stringify({ ...answer(), ...over }), message]),
])('an answer with %s is refused, and the error names the fault', (_what, text, message) => {
  expect(() => parseReadiness(text)).toThrow(message);
});
