import type { Condition, KubeObject } from '../../api/meta.ts';
import { kstatus } from './kstatus.ts';

const condition = (type: string, status: Condition['status']): Condition => ({
  type,
  status,
  reason: 'Because',
  message: 'of it',
  lastTransitionTime: '2026-01-02T03:04:05Z',
});
const object = (conditions: Condition[], observedGeneration?: number, deletionTimestamp?: string): KubeObject => ({
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'TrafficMonitor',
  metadata: { name: 'a', generation: 2, ...(deletionTimestamp ? { deletionTimestamp } : {}) },
  status: { conditions, ...(observedGeneration === undefined ? {} : { observedGeneration }) },
});
const ready = condition('Ready', 'True');

test.each([
  ['Current when it is ready in its newest generation', object([ready], 2), 'Current'],
  ['InProgress when its newest generation is not observed yet', object([ready], 1), 'InProgress'],
  ['InProgress while Reconciling, ready or not', object([ready, condition('Reconciling', 'True')], 2), 'InProgress'],
  ['Failed when Stalled', object([condition('Ready', 'False'), condition('Stalled', 'True')], 2), 'Failed'],
  [
    'Failed when it is Stalled and Reconciling, and lists Stalled first',
    object([condition('Stalled', 'True'), condition('Reconciling', 'True')], 2),
    'Failed',
  ],
  ['InProgress when it is not ready', object([condition('Ready', 'False')], 2), 'InProgress'],
  ['InProgress when its readiness is unknown', object([condition('Ready', 'Unknown')], 2), 'InProgress'],
  ['Terminating when it is being deleted', object([ready], 2, '2026-01-02T03:04:05Z'), 'Terminating'],
  ['Current when it has no conditions', object([]), 'Current'],
])('an object is %s', (_, given, expected) => {
  expect(kstatus(given)).toMatchObject({ status: expected });
});
