import type { AgentStatus, MonitorOutcome } from '../../capture/index.ts';
import { NodeState } from '../capture/node-state.ts';
import { exporting, resolvedRefs } from './monitor-status.ts';

type Row = NonNullable<AgentStatus['exports']>[number];

const outcome = (exports: MonitorOutcome['exports'], suspended = false): MonitorOutcome =>
  ({ namespace: 'shop', name: 'm', exports, suspended }) as unknown as MonitorOutcome;
const allowed = { name: 'x', host: 'h', allowed: true, secret: 'shop/s/token' };

function node(name: string, row?: Partial<Row>): NodeState {
  const state = new NodeState(name);
  const full: Row = {
    owner: 'TrafficMonitor/shop/m',
    name: 'x',
    state: 'Sending',
    pendingBytes: 0,
    sent: 1,
    refused: 0,
    ...row,
  };
  state.status = { exports: [full] } as unknown as AgentStatus;
  return state;
}

test('a monitor that is suspended or has no exports has no condition Exporting', () => {
  expect(exporting(outcome([]), [])).toEqual([]);
  expect(exporting(outcome([allowed], true), [])).toEqual([]);
});

test('a host that no policy allows is named', () => {
  expect(exporting(outcome([{ ...allowed, allowed: false }]), [])).toEqual([
    {
      type: 'Exporting',
      status: 'False',
      reason: 'DestinationNotAllowed',
      message: 'export x: no policy allows the host h',
    },
  ]);
});

test.each([
  ['every node sends', [node('a'), node('b')], 'True', 'Exporting', ''],
  [
    'one node fails',
    [node('a'), node('b', { state: 'Failing', message: 'HTTP 503' })],
    'False',
    'SendFailing',
    'export x: b: HTTP 503',
  ],
  [
    'two nodes fail',
    [node('a', { state: 'Failing', message: 'HTTP 503' }), node('b', { state: 'NoSecret' })],
    'False',
    'SendFailing',
    'export x: a (and 1 more nodes): HTTP 503',
  ],
  [
    'the host resolves to an address that is not allowed',
    [node('a', { state: 'NotAllowed', message: 'h resolves to 169.254.169.254' })],
    'False',
    'DestinationNotAllowed',
    'export x: a: h resolves to 169.254.169.254',
  ],
  [
    'another monitor’s export fails',
    [node('a', { owner: 'TrafficMonitor/shop/n', state: 'Failing' })],
    'True',
    'Exporting',
    '',
  ],
])('the condition Exporting when %s', (_, nodes, status, reason, message) => {
  expect(exporting(outcome([allowed]), nodes)).toEqual([{ type: 'Exporting', status, reason, message }]);
});

test('a Secret that does not exist is named; a Secret that was not read yet is not', () => {
  expect(resolvedRefs(outcome([allowed]), () => undefined, 'svc-system')).toMatchObject({
    status: 'True',
    reason: 'ResolvedRefs',
  });
  expect(
    resolvedRefs(outcome([allowed]), (ref) => (ref === 'shop/s/token' ? 'missing' : undefined), 'svc-system'),
  ).toEqual({
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'SecretNotFound',
    message: 'export x: Secret s or its key token does not exist',
  });
});

test('a Secret that the operator may not read is named with the command that grants it', () => {
  expect(resolvedRefs(outcome([allowed]), () => 'forbidden', 'svc-system')).toEqual({
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'SecretForbidden',
    message:
      'export x: the operator may not read Secret s; grant it: ' +
      'kubectl create role svc-controller-s -n shop --verb=get --resource=secrets --resource-name=s && ' +
      'kubectl create rolebinding svc-controller-s -n shop --role=svc-controller-s --serviceaccount=svc-system:svc-controller',
  });
});

test('a Secret with a value that is too long is named with its key', () => {
  expect(resolvedRefs(outcome([allowed]), () => 'tooLong', 'svc-system')).toEqual({
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'SecretTooLong',
    message: 'export x: key token of Secret s has more than 16384 characters',
  });
});
