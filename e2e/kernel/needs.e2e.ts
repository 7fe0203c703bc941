import { whyNoMachine } from './needs.ts';

const all = { platform: 'linux', has: () => true, exists: () => true };

test('a machine that has everything is accepted', () => {
  expect(whyNoMachine(all)).toBeNull();
});

test('missing programs are named by the packages that bring them, each package once', () => {
  const without = (...gone: string[]) => ({ ...all, has: (program: string) => !gone.includes(program) });
  expect(whyNoMachine(without('ip', 'ss', 'busybox'))).toBe(
    'programs are missing: apt-get install busybox-static iproute2',
  );
  expect(whyNoMachine({ ...all, exists: () => false })).toBe('programs are missing: apt-get install python3');
});

test('a system other than Linux is refused with the reason', () => {
  expect(whyNoMachine({ ...all, platform: 'darwin' })).toMatch(/must be Linux/);
});
