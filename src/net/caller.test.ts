import { callerHeaders, callerIn } from './caller.ts';

test('two requests of a caller have the same identity, another caller has another, and no name is sent', () => {
  const [ada, bob] = [callerHeaders('user ada'), callerHeaders('user bob')];
  expect(callerIn(ada)).toBe(callerIn(callerHeaders('user ada')));
  expect(callerIn(ada)).not.toBe(callerIn(bob));
  expect(JSON.stringify(ada)).not.toContain('ada');
});

test.each([{}, { 'x-svc-caller': '' }, { 'x-svc-caller': 'x'.repeat(10_000) }, { 'x-svc-caller': 'user ada' }])(
  'requests without a valid caller header share one identity: %j',
  (headers) => expect(callerIn(headers)).toBe('anyone'),
);
