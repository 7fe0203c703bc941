import { apiError } from '../kube/index.ts';
import { podRefusal, refusalOf } from './refusal.ts';

const answer = (status: number, reason: string, message: string): unknown =>
  apiError('apply Deployment shop/minter', status, { reason, message });

test.each<[string, unknown, string, boolean]>([
  [
    'a quota',
    answer(
      403,
      'Forbidden',
      'deployments.apps "minter" is forbidden: exceeded quota: small, requested: count/deployments.apps=1',
    ),
    'QuotaExceeded',
    true,
  ],
  [
    'a webhook that denies the request, with any status code',
    answer(403, 'Forbidden', 'admission webhook "no.example.com" denied the request: not here'),
    'AdmissionDenied',
    true,
  ],
  [
    'a webhook that cannot be reached',
    answer(
      500,
      'InternalError',
      'Internal error occurred: failed calling webhook "no.example.com": connection refused',
    ),
    'AdmissionDenied',
    true,
  ],
  [
    'an admission policy',
    answer(
      422,
      'Invalid',
      "deployments.apps \"minter\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
    ),
    'AdmissionDenied',
    true,
  ],
  [
    'a missing permission',
    answer(403, 'Forbidden', 'deployments.apps "minter" is forbidden: User "x" cannot patch resource "deployments"'),
    'Forbidden',
    true,
  ],
  ['an object that the server finds invalid', answer(422, 'Invalid', 'spec.replicas: Invalid value'), 'Invalid', true],
  ['a server in trouble', answer(503, 'ServiceUnavailable', 'try again'), 'ApplyFailed', false],
  ['a connection that broke', new Error('socket hang up'), 'ApplyFailed', false],
])('the error decides the reason, and whether waiting may help: %s', (_what, error, reason, stalled) => {
  const refusal = refusalOf(error, 'Deployment shop/minter');
  expect(refusal).toMatchObject({ reason, stalled });
  expect(refusal.message).toContain('Deployment shop/minter');
});

test.each([
  ['pods "m-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0', 'QuotaExceeded'],
  ['admission webhook "no.example.com" denied the request', 'AdmissionDenied'],
  ['pods "m-1" is forbidden: violates PodSecurity "restricted:latest": privileged', 'AdmissionDenied'],
  ['pods "m-" is forbidden: error looking up service account a/b: serviceaccount "b" not found', 'MissingDependency'],
  ['pods "m-1" is forbidden: something new', 'Forbidden'],
  ['Internal error occurred', 'ApplyFailed'],
])('pods refused with %j have the reason %s', (message, reason) => {
  expect(podRefusal(message)).toMatchObject({ reason, message });
});

test('the message names every failure, and the first that waiting cannot resolve gives the reason', () => {
  const slow = apiError('apply Service shop/a', 503, { reason: 'ServiceUnavailable', message: 'try later' });
  const denied = apiError('apply DaemonSet shop/b', 403, { reason: 'Forbidden', message: 'cannot patch' });
  const { reason, stalled, message } = refusalOf(new AggregateError([slow, new AggregateError([denied, slow])]));
  expect([reason, stalled]).toEqual(['Forbidden', true]);
  expect(message).toMatch(/^.*Service shop\/a.*; .*DaemonSet shop\/b.*$/);
  expect(message.match(/Service shop\/a/g)).toHaveLength(1);
});
