import { resourceRef } from '../../api/meta.ts';
import { clusterTrafficPolicies, type ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { platformDefaults, renderedKinds } from '../../render/index.ts';
import { StatusError } from '../../testing/fake-api-server/index.ts';
import { policyObject } from '../../testing/operator/platform-world.ts';
import { noFaults, runController, type ControllerHarness } from '../../testing/run-controller.ts';
import { until } from '../../testing/until.ts';
import { setupPlatform } from './reconciler.ts';
import { PlatformTrouble } from './trouble.ts';

let harness: ControllerHarness;
let trouble: PlatformTrouble;
beforeEach(async () => {
  trouble = new PlatformTrouble();
  harness = await runController(
    (env) => void setupPlatform(env, platformDefaults, { trouble }),
    [policyObject('all', {})],
    noFaults,
    { server: { resources: [clusterTrafficPolicies, resourceRef(renderedKinds.PriorityClass)] } },
  );
});
afterEach(() => harness.stop());

/** Lets a webhook hold up each write of a child for this time and refuse it then, until the condition holds. */
async function holdUp(ms: number, what: string, holds: () => unknown): Promise<void> {
  const { server, clock } = harness;
  const failure = new StatusError(500, 'InternalError', 'failed calling webhook "policy.example.com"');
  let held: PromiseWithResolvers<void> | undefined;
  const isHeld = ({ verb, plural }: { verb: string; plural: string }): boolean =>
    verb === 'apply' && plural !== 'secrets' && plural !== clusterTrafficPolicies.plural;
  const seen = (): number => server.seen(isHeld).length;
  let answered = seen();
  const hold = (): void => {
    held = Promise.withResolvers<void>();
    server.script(isHeld, { do: 'hold', until: held.promise });
  };
  hold();
  await until(what, async () => {
    if (seen() > answered) {
      answered++;
      await clock.advance(ms);
      const now = held!;
      hold();
      now.reject(failure);
    } else await clock.advance(5);
    return holds();
  });
}

const conditions = () =>
  (harness.server.storage.get(clusterTrafficPolicies, undefined, 'all') as unknown as ClusterTrafficPolicy).status
    ?.conditions;

test('the conditions are written also when a webhook holds up the write of every object for ten seconds', async () => {
  await holdUp(10_000, 'the conditions', conditions);
  const certificates = conditions()?.find(({ type }) => type === 'CertificateExpiring');
  expect(certificates).toMatchObject({ status: 'False', reason: 'CertificatesValid' });
});

test('a reconcile that has no time left because of a webhook reports the webhook as the trouble', async () => {
  await holdUp(25_000, 'the trouble', () => trouble.current);
  expect(trouble.current?.message).toContain('failed calling webhook "policy.example.com"');
  expect(conditions()).toBeUndefined();
});
