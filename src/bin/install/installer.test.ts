import { coreResources } from '../../kube/index.ts';
import { appCredentialsSecret, controllerDefaults, renderInstallation } from '../../render/index.ts';
import { anObject, FakeApiServer, FakeClock } from '../../testing/index.ts';
import { applyInstallation, planInstallation, toApply, type InstallerDeps, type ObjectChange } from './installer.ts';

/** A Secret is judged by its values, which no report shows. */

const { secrets } = coreResources;
const operatorNamespace = controllerDefaults.namespace;
const namespace = 'platform-agent';

let server: FakeApiServer;
let deps: InstallerDeps;

beforeEach(async () => {
  server = await FakeApiServer.start();
  deps = { client: server.client(), clock: new FakeClock(), signal: new AbortController().signal };
});
afterEach(async () => {
  await deps.client.close();
  await server.stop();
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const stored = (): unknown => server.storage.get(secrets, namespace, appCredentialsSecret)['data'];

/** Plans an installation with this App ID, as far as the Secret with it. */
async function plan(appId: string, force = false): Promise<ObjectChange[]> {
  const minter = {
    ...{ name: 'minter', namespace, image: 'minter:1', replicas: 1, appId, org: 'acme', repository: 'gitops' },
    ...{ extraRepositories: [], keyVersion: 'key', callers: ['a@acme.example'], serviceAccountAnnotations: {} },
  };
  const wanted = renderInstallation({ controller: controllerDefaults, minter }).filter(({ kind }) => kind === 'Secret');
  return planInstallation(wanted, deps, { namespace: operatorNamespace, force });
}
async function install(appId: string, force = false): Promise<ObjectChange[]> {
  const changes = await plan(appId, force);
  await applyInstallation(toApply(changes), deps, { force, onDone: () => {} });
  return changes;
}

test('another App ID is applied, and the report says that it differs without showing it', async () => {
  await install('1111');
  expect(await install('1111')).toMatchObject([{ change: 'unchanged', diff: [] }]);
  const changes = await install('2222');
  expect(changes).toMatchObject([{ change: 'configured' }]);
  expect(stored()).toEqual({ 'app-id': base64('2222') });
  const shown = changes[0]!.diff.filter((line) => /^[-+]/.test(line));
  expect(shown).toEqual(['-  app-id: (not shown)', '+  app-id: (not shown, another value)']);
});

test('an App ID that a user has stored by hand is replaced only by force', async () => {
  const byHand = { kind: 'Secret', metadata: { name: appCredentialsSecret, namespace } };
  server.put(secrets, { ...anObject(byHand), data: { 'app-id': base64('1111') } }, 'kubectl-create');
  await expect(plan('2222')).rejects.toMatchObject({
    code: 'ERR_APPLY_CONFLICT',
    message: expect.stringMatching(/others own .*app-id \(kubectl-create\); --force-conflicts/),
  });
  await install('2222', true);
  expect(stored()).toEqual({ 'app-id': base64('2222') });
});
