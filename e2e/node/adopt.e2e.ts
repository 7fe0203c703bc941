import { adoptContainers } from './adopt.ts';
import { podPhase } from './pod-status.ts';
import type { ContainerState, Pod } from './types.ts';

const now = '2026-01-01T00:00:00.000Z';
const startedAt = '2025-12-31T00:00:00.000Z';
const running = { running: { startedAt } };
const ended = (exitCode: number): ContainerState => ({
  terminated: { exitCode, reason: exitCode ? 'Error' : 'Completed', startedAt, finishedAt: startedAt },
});

const aPod = (policy: 'Always' | 'OnFailure' | 'Never', state?: ContainerState, phase = 'Running'): Pod => ({
  metadata: { name: 'p', namespace: 'd', uid: 'u' },
  spec: { restartPolicy: policy, containers: [{ name: 'c', image: 'echo' }] },
  ...(state
    ? {
        status: {
          phase,
          containerStatuses: [
            {
              name: 'c',
              image: 'echo',
              imageID: '',
              ready: true,
              started: true,
              restartCount: 3,
              state,
              lastState: {},
            },
          ],
        },
      }
    : {}),
});

test.each([
  ['a pod that never started is pending and will run', aPod('Never'), true, 'Pending'],
  ['a container that ran is started again under Always', aPod('Always', running), true, 'Running'],
  ['a container that ran is started again under OnFailure', aPod('OnFailure', running), true, 'Running'],
  ['a container that ran has failed under Never', aPod('Never', running), false, 'Failed'],
  ['a container that succeeded stays so under OnFailure', aPod('OnFailure', ended(0)), false, 'Succeeded'],
  ['a container that failed is started again under OnFailure', aPod('OnFailure', ended(1)), true, 'Running'],
  ['a pod that succeeded stays so', aPod('Never', ended(0), 'Succeeded'), false, 'Succeeded'],
])('after a restart of the node: %s', (_name, pod, willRun, phase) => {
  const records = adoptContainers(pod, now);
  expect(records[0]?.willRun).toBe(willRun);
  expect(podPhase(records)).toBe(phase);
});

test('after a restart of the node, a pod keeps its restart count, and its lost run has exit code 255', () => {
  expect(adoptContainers(aPod('Always', running), now)[0]).toMatchObject({
    restarts: 3,
    terminated: { exitCode: 255, reason: 'Unknown', startedAt, finishedAt: now },
  });
});
