import type { Condition, KubeObject } from '../../api/meta.ts';
import type { ConditionedStatus, StatedCondition } from '../../api/statuses.ts';
import { minterDeployments } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import { renderedKinds } from '../../render/index.ts';
import { aMinterDeployment } from '../../testing/builders/minter-deployment.ts';
import { StatusError, type FakeApiServer, type SeenRequest } from '../../testing/fake-api-server/index.ts';
import { noFaults, runController, type ControllerHarness } from '../../testing/run-controller.ts';
import { setupMinterDeployment } from './index.ts';

const { secrets } = coreResources;

let harness: ControllerHarness;
afterEach(() => harness.stop());

test('a refused deletion of a child is in the status, which follows the spec', async () => {
  const minter = aMinterDeployment() as unknown as KubeObject;
  const spec = minter['spec'] as object;
  const { namespace = '', name = '' } = minter.metadata;
  harness = await runController(
    (env) => void setupMinterDeployment(env, { namespace: 'svc-system' }),
    [{ ...minter, spec: { ...spec, replicas: 2, podDisruptionBudget: true } }],
    noFaults,
    { server: { resources: [minterDeployments] } },
  );
  const { server, passUntil } = harness;
  const budgets = (): number => server.storage.list(renderedKinds.PodDisruptionBudget).length;
  await passUntil(() => budgets() === 1, 'the budget');
  const denied = new StatusError(403, 'Forbidden', "ValidatingAdmissionPolicy 'keep' denied the request");
  server.script({ verb: 'delete', plural: 'poddisruptionbudgets' }, { do: 'fail', error: denied }, 1_000);
  const live = server.storage.get(minterDeployments, namespace, name);
  server.storage.update(minterDeployments, { ...live, spec: { ...spec, replicas: 1 } }, { manager: 'kubectl' });
  const status = (): { observedGeneration?: number; conditions?: Condition[] } =>
    server.storage.get(minterDeployments, namespace, name)['status'] ?? {};
  await passUntil(() => status().observedGeneration === 2, 'the status of the new generation');
  const stalled = status().conditions?.find(({ type }) => type === 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'AdmissionDenied' });
  expect(stalled?.message).toContain(`delete PodDisruptionBudget ${namespace}/`);
});

test('the status is written also when a webhook holds up the write of every child', async () => {
  const minter = aMinterDeployment() as unknown as KubeObject;
  const { namespace = '', name = '' } = minter.metadata;
  harness = await runController(
    (env) => void setupMinterDeployment(env, { namespace: 'svc-system' }),
    [minter],
    (server) => server.script({ verb: 'apply' }, { do: 'hold', until: new Promise(() => {}) }, 6),
    { server: { resources: [minterDeployments] } },
  );
  const { server, clock, passUntil } = harness;
  const held = (): SeenRequest[] => server.seen({ verb: 'apply' });
  for (let n = 1; n <= 6; n++) {
    await passUntil(() => held().length === n, `write ${n}`);
    await clock.advance(30_000);
  }
  await passUntil(() => held().length > 6, 'a write after those of the children');
  expect(held()[6]).toMatchObject({ plural: 'minterdeployments', name });
  const status = () => server.storage.get(minterDeployments, namespace, name)['status'] as { conditions?: Condition[] };
  await passUntil(() => status()?.conditions, 'the status');
  const ready = status().conditions?.find(({ type }) => type === 'Ready');
  expect(ready).toMatchObject({ status: 'False', reason: 'ApplyFailed' });
  expect(ready?.message).toContain('no answer within 30000 ms');
});

test('of two minters that create one service account, the second is refused by name of the first, without more writes', async () => {
  const minters = ['one', 'two'].map((name) =>
    aMinterDeployment({ serviceAccount: { create: true, name: 'shared' } }, { name, uid: `uid-of-${name}` }),
  ) as unknown as KubeObject[];
  harness = await runController(
    (env) => void setupMinterDeployment(env, { namespace: 'svc-system' }),
    minters,
    noFaults,
    {
      server: { resources: [minterDeployments] },
    },
  );
  const { server, passUntil, clock, idle } = harness;
  const ready = (name: string): StatedCondition | undefined => {
    const { status } = server.storage.get(minterDeployments, 'platform-agent', name) as { status?: ConditionedStatus };
    return status?.conditions?.find(({ type }) => type === 'Ready');
  };
  const refused = (): string | undefined => ['one', 'two'].find((name) => ready(name)?.reason === 'Conflict');
  await passUntil(refused, 'the refusal');
  await idle();
  const first = refused() === 'one' ? 'two' : 'one';
  expect(ready(refused()!)?.message).toContain(`belongs to MinterDeployment ${first}`);
  expect(ready(refused()!)?.message).toContain('; set serviceAccount.create: false to share it');
  const applies = (): number => server.seen({ verb: 'apply', plural: 'serviceaccounts' }).length;
  const before = applies();
  expect(before).toBeLessThanOrEqual(2);
  await clock.advance(60_000);
  await idle();
  expect(applies()).toBe(before);
});

describe('the pods keep the App ID that they started with, and the status says what is wrong,', () => {
  const forbidden = new StatusError(403, 'Forbidden', 'secrets "vcs-app-credentials" is forbidden');
  const data = (text: string) => ({ data: { 'app-id': Buffer.from(text).toString('base64') } });
  const rows: [string, string, (server: FakeApiServer, secret: KubeObject) => void][] = [
    [
      'is absent',
      'SecretNotFound',
      ({ storage }, { metadata }) => storage.remove(secrets, metadata.namespace, metadata.name!),
    ],
    [
      'is forbidden',
      'Forbidden',
      (server) => server.script({ verb: 'get', plural: 'secrets' }, { do: 'fail', error: forbidden }, 9),
    ],
    ['has no such key', 'KeyMissing', (server, secret) => server.put(secrets, { ...secret, data: {} })],
    ['is no number', 'NotNumeric', (server, secret) => server.put(secrets, { ...secret, ...data('none') })],
  ];

  test.each(rows)('while its Secret %s: %s', async (_what, reason, spoil) => {
    const minter = aMinterDeployment() as unknown as KubeObject;
    const { namespace, name = '' } = minter.metadata;
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'vcs-app-credentials', namespace } };
    harness = await runController(
      (env) => void setupMinterDeployment(env, { namespace: 'svc-system' }),
      [minter, { ...secret, ...data('12345') } as KubeObject],
      noFaults,
      { server: { resources: [minterDeployments] } },
    );
    const { server, passUntil, idle } = harness;
    const template = (): unknown =>
      (server.storage.find(coreResources.deployments, namespace, name)?.['spec'] as { template: unknown } | undefined)
        ?.template;
    const found = (): StatedCondition | undefined => {
      const { status } = server.storage.get(minterDeployments, namespace, name) as { status?: ConditionedStatus };
      return status?.conditions?.find(({ type }) => type === 'AppCredentialsFound');
    };
    await passUntil(() => found()?.status === 'True', 'the App ID');
    await idle();
    const before = template();
    expect(JSON.stringify(before)).toContain('svc.dev/app-id-hash');
    spoil(server, server.storage.get(secrets, namespace, 'vcs-app-credentials'));
    await passUntil(() => found()?.reason === reason, 'the condition');
    await idle();
    expect(template()).toEqual(before);
    if (reason === 'Forbidden') return;
    server.put(secrets, { ...secret, ...data('678') } as KubeObject);
    await passUntil(() => found()?.status === 'True', 'the new App ID');
    await idle();
    expect(template()).not.toEqual(before);
  });
});
