import { callerHeaders, callerIn } from './caller.ts';

test('a caller is the same in each request, another is another, and no name is sent', () => {
  const [ada, bob] = [callerHeaders('user ada'), callerHeaders('user bob')];
  expect(callerIn(ada)).toBe(callerIn(callerHeaders('user ada')));
  expect(callerIn(ada)).not.toBe(callerIn(bob));
  expect(JSON.stringify(ada)).not.toContain('ada');
});

test.each([{}, { 'x-svc-caller': '' }, { 'x-svc-caller': 'x'.repeat(10_000) }, { 'x-svc-caller': 'user ada' }])(
  'requests that name no caller of ours are of one and the same: %j',
  (headers) => expect(callerIn(headers)).toBe('anyone'),
);
