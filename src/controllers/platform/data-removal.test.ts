import type { KubeObject } from '../../api/meta.ts';
import { clusterTrafficPolicies } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import { names, platformDefaults, renderDataRemoval } from '../../render/index.ts';
import { noFaults, runController, type ControllerHarness } from '../../testing/run-controller.ts';
import { setupPlatform } from './reconciler.ts';

/** What a removal of data that was given up (`svc uninstall --delete-data`) means for the next installation. */

const { daemonSets, deployments } = coreResources;
const { namespace } = platformDefaults;

/** The operator in a cluster that still has this removal, whose pods take a while to end. */
async function began(state: 'waiting' | 'running'): Promise<ControllerHarness> {
  const removal = renderDataRemoval(platformDefaults, state)!;
  removal.metadata.finalizers = ['foregroundDeletion'];
  return runController((env) => setupPlatform(env, platformDefaults), [removal], noFaults, {
    server: { resources: [clusterTrafficPolicies] },
  });
}
const found = ({ server }: ControllerHarness, name: string): KubeObject | undefined =>
  server.storage.find(daemonSets, namespace, name);
const deletes = ({ server }: ControllerHarness): number => server.seen({ verb: 'delete', plural: 'daemonsets' }).length;

test('a removal that runs is ended before agents are applied, which would lose what they write', async () => {
  await using harness = await began('running');
  await harness.passUntil(() => deletes(harness) > 0, 'the deletion');
  await harness.clock.advance(10_000);
  await harness.idle();
  expect(found(harness, names.dataRemoval)?.metadata.deletionTimestamp).toBeDefined();
  expect([found(harness, names.agent), deletes(harness)]).toEqual([undefined, 1]);
  const { metadata } = found(harness, names.dataRemoval)!;
  harness.server.put(daemonSets, { ...found(harness, names.dataRemoval)!, metadata: { ...metadata, finalizers: [] } });
  await harness.passUntil(() => found(harness, names.agent), 'the agents');
});

test.each([
  ['is right', 0],
  ['is set forward', 120_000],
  ['is set back', -3_600_000],
])(
  'pods of a removal that ends on nodes that do not answer hold up agents for a minute, also if the clock %s',
  async (_what, jumpMs) => {
    await using harness = await began('running');
    await harness.passUntil(() => deletes(harness) > 0, 'the deletion');
    harness.clock.jumpWall(jumpMs);
    await harness.clock.advance(50_000);
    await harness.idle();
    expect(found(harness, names.agent)).toBeUndefined();
    await harness.clock.advance(15_000);
    await harness.passUntil(() => found(harness, names.agent), 'the agents');
    expect([found(harness, names.dataRemoval) === undefined, deletes(harness)]).toEqual([false, 1]);
  },
);

test('a removal that waits has no pods, and is left to the uninstallation that is about to end the operator', async () => {
  await using harness = await began('waiting');
  await harness.passUntil(() => harness.server.storage.find(deployments, namespace, names.query), 'the last child');
  expect(found(harness, names.agent)).toBeDefined();
  expect(deletes(harness)).toBe(0);
});
