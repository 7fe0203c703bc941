import { aComponentPod } from '../../../testing/capture/cluster-view.ts';
import { podFault, type PodWithStatus } from './pod-fault.ts';

test.each([
  ['its startup probe', false, /the startup probe of container agent has not succeeded$/],
  ['its readiness probe', true, /the readiness probe of container agent has not succeeded$/],
])('the fault of a running container that is not ready names %s', (_, started, words) => {
  const containerStatuses = [{ name: 'agent', ready: false, started, state: { running: {} } }];
  const pod = aComponentPod('agent', 'a', 'node-1', {
    status: { phase: 'Running', conditions: [], containerStatuses },
  });
  expect(podFault(pod as unknown as PodWithStatus)).toMatch(words);
});
