/**
 * Compares the stand-ins that other tests use for Flux and Argo CD with the originals: kstatus of cli-utils, and
 * gitops-engine, which runs our health script in gopher-lua.
 */
import type { ConditionStatus, KubeObject } from '../../src/api/meta.ts';
import { argoHealth } from '../../src/testing/gitops/argo-health.ts';
import { kstatus } from '../../src/testing/gitops/kstatus.ts';
import { needing } from '../../src/testing/needs.ts';
import { startGitOpsJudges, type GitOpsJudges } from './gitops-judges.ts';
import { peerNeed } from './programs.ts';

let judges: GitOpsJudges;
const statuses: (ConditionStatus | undefined)[] = [undefined, 'True', 'False', 'Unknown'];

/** Objects in all states that the tools can tell apart: by observed generation, conditions, deletion, suspension. */
function* objects(): Generator<KubeObject> {
  for (const kind of ['TrafficMonitor', 'MinterDeployment'])
    for (const deletionTimestamp of [undefined, '2026-01-02T03:04:05Z'])
      for (const suspend of [false, true])
        for (const observedGeneration of [undefined, -1, 1, 2])
          for (const conditions of conditionSets())
            yield {
              apiVersion: 'svc.dev/v1alpha1',
              kind,
              metadata: { name: 'a', generation: 2, ...(deletionTimestamp ? { deletionTimestamp } : {}) },
              spec: { suspend },
              status: { ...(observedGeneration === undefined ? {} : { observedGeneration }), conditions },
            };
  yield { apiVersion: 'svc.dev/v1alpha1', kind: 'TrafficMonitor', metadata: { name: 'a', generation: 2 }, spec: {} };
}

/** Each set of conditions in both orders, because a tool may take the first condition that it finds. */
function* conditionSets(): Generator<object[]> {
  for (const ready of statuses)
    for (const reconciling of statuses)
      for (const stalled of statuses) {
        const set = Object.entries({ Ready: ready, Reconciling: reconciling, Stalled: stalled }).flatMap(
          ([type, status]) =>
            status === undefined
              ? []
              : [
                  {
                    type,
                    status,
                    reason: `${type}Reason`,
                    message: 'of it',
                    lastTransitionTime: '2026-01-02T03:04:05Z',
                  },
                ],
        );
        yield set;
        if (set.length > 1) yield set.toReversed();
      }
}

needing(peerNeed('kstatus'), peerNeed('argo-cd')).describe('the stand-ins for GitOps tools', () => {
  beforeAll(async () => {
    judges = await startGitOpsJudges();
  });
  afterAll(() => judges.close());

  test('our kstatus gives every object the same status as the kstatus of cli-utils', async () => {
    const different: unknown[] = [];
    let compared = 0;
    for (const object of objects()) {
      const [ours, theirs] = [kstatus(object).status, (await judges.kstatus(object)).status];
      compared++;
      if (ours !== theirs) different.push({ ours, theirs, metadata: object.metadata, status: object['status'] });
    }
    expect(different.slice(0, 3)).toEqual([]);
    expect(compared).toBeGreaterThan(3_000);
  });

  test('our health script gives the same result in the Lua of these tests as in gitops-engine', async () => {
    const different: unknown[] = [];
    let compared = 0;
    for (const [i, object] of [...objects()].entries()) {
      // Argo CD does not run the script for a deleted object. Each run starts a Lua interpreter, which takes time:
      // every seventh object still covers each kind of state.
      if (object.metadata.deletionTimestamp !== undefined || i % 7 !== 0) continue;
      const [ours, theirs] = [await argoHealth(object), await judges.health(object)];
      compared++;
      if (ours.status !== theirs?.status || ours.message !== theirs.message) different.push({ ours, theirs, object });
    }
    expect(different.slice(0, 3)).toEqual([]);
    expect(compared).toBeGreaterThan(200);
  });
});
