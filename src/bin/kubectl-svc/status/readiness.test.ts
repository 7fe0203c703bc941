import type { Condition } from '../../../api/meta.ts';
import { type Conditioned, readinessOf } from './readiness.ts';

const condition = (type: string, status: Condition['status'], reason: string, message: string): Condition => ({
  ...{ type, status, reason, message },
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const object = (...conditions: Condition[]): Conditioned => ({
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'MinterDeployment',
  metadata: { name: 'm', generation: 5 },
  status: { observedGeneration: 5, conditions },
});
const rollout = condition('Reconciling', 'True', 'Progressing', '1 of 2 replicas are updated');

test('an object with a rollout in progress is reported as progressing, even if its Ready is True', () => {
  expect(readinessOf(object(condition('Ready', 'True', 'Ready', 'tokens can be minted'), rollout))).toEqual({
    state: 'progressing',
    text: 'generation 5: Progressing, 1 of 2 replicas are updated',
    reason: 'Progressing',
  });
});

test('for an object that is not ready, the reason of Ready is reported, not that of Reconciling', () => {
  const ready = condition('Ready', 'False', 'RollingOut', '1 of 3 nodes run it');
  expect(readinessOf(object(ready, rollout))).toEqual({
    state: 'progressing',
    text: 'generation 5: RollingOut, 1 of 3 nodes run it',
    reason: 'RollingOut',
  });
});
