import { callerHeaders, callerIn } from './caller.ts';

test('requests of one caller share an identity, other callers have others, and no name is sent', () => {
  const [ada, bob] = [callerHeaders('user ada'), callerHeaders('user bob')];
  expect(callerIn(ada)).toBe(callerIn(callerHeaders('user ada')));
  expect(callerIn(ada)).not.toBe(callerIn(bob));
  expect(JSON.stringify(ada)).not.toContain('ada');
});

test.each([{}, { 'x-svc-caller': '' }, { 'x-svc-caller': 'x'.repeat(10_000) }, { 'x-svc-caller': 'user ada' }])(
  'requests without a valid caller header share one identity: %j',
  (headers) => expect(callerIn(headers)).toBe('anyone'),
);
