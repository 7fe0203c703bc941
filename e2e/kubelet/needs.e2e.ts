import { tookMs } from './check-edits.ts';
import { hierarchies } from './enclosure.ts';
import { whyNoNode, type Machine } from './needs.ts';
import { failureLines, suitesToRepeat, suiteTimes, tallyOfJest } from '../../scripts/test-all/tally.ts';
import { reportOf } from './report.ts';
import { withholdsResources } from './surroundings.ts';

const able: Machine = { platform: 'linux', uid: 0, has: () => true, exists: () => true, refuses: () => '' };

test('a machine with everything can bring up a node', () => {
  expect(whyNoNode(able)).toBeNull();
});

test.each<[string, Partial<Machine>, string]>([
  ['a system other than Linux', { platform: 'darwin' }, 'a node needs Linux: run it in a virtual machine'],
  ['a user other than root', { uid: 1_000 }, 'a node needs root: run it with sudo'],
  [
    'a machine without container programs',
    { has: (program) => !['containerd', 'ctr', 'runc', 'nft'].includes(program) },
    'programs are missing: apt-get install containerd nftables runc',
  ],
  [
    'a machine without network plugins',
    { exists: () => false },
    'programs are missing: apt-get install containernetworking-plugins',
  ],
  [
    'a container without privileges',
    { refuses: () => 'unshare: unshare failed: Operation not permitted' },
    'this machine refuses what containers are made of (unshare: unshare failed: Operation not permitted): run it on another one',
  ],
])('%s is refused, and the reason says what to do', (_, lack, reason) => {
  expect(whyNoNode({ ...able, ...lack })).toBe(reason);
});

test('control groups of both versions are found where they are mounted', () => {
  const mounts = `tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
none /tmp/elsewhere cgroup2 rw 0 0
`;
  expect(hierarchies(mounts)).toEqual(['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/unified']);
});

test('a machine that withholds CAP_SYS_RESOURCE is recognized by its bounding set', () => {
  expect(withholdsResources('CapBnd:\t000001fffeffffff\n')).toBe(true);
  expect(withholdsResources('CapBnd:\t000001ffffffffff\n')).toBe(false);
});

test('an edit is timed from when it was made or, if it has to wait, from the stated end of its wait', () => {
  expect(tookMs({ generation: 2, at: 1_000, stated: null, done: 4_000 })).toBe(3_000);
  expect(tookMs({ generation: 2, at: 1_000, stated: 61_000, done: 64_000 })).toBe(3_000);
  expect(tookMs({ generation: 2, at: 1_000, stated: 61_000, done: 60_500 })).toBe(0);
});

test('outcomes of checks are counted by group, as tests are by suite', () => {
  const outcome = (group: string, what: string, passed: boolean, at: number) => {
    return { group, what, passed, startTime: at, endTime: at + 5 };
  };
  const report = reportOf([
    outcome('pods', 'a', true, 10),
    outcome('edits', 'b', false, 20),
    outcome('edits', 'c', true, 30),
  ]);
  expect(tallyOfJest(report, 1)).toEqual({ passed: 2, failed: 1, skipped: [] });
  expect(failureLines(report, '/')).toEqual(['edits: b']);
  expect(suitesToRepeat(report)).toEqual(['edits']);
  expect(suiteTimes(report)).toEqual([
    { file: 'pods', seconds: 0.005 },
    { file: 'edits', seconds: 0.015 },
  ]);
});
