import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { captureLimits, refusesUprobes } from './refused-probes.ts';

test.each<[string, boolean]>([
  ['4.18.0', false],
  ['5.4.290', false],
  ['5.10.239', false],
  ['5.10.240', true],
  ['5.14.0', false],
  ['6.1.145', false],
  ['6.1.146', true],
  ['6.8.12', false],
  ['6.12.39', true],
  ['6.15.6', false],
  ['6.16', true],
  ['6.17.1', true],
  ['7.0.0', true],
  ['unknown', false],
])('Linux %s is known to refuse uprobes without SYS_ADMIN: %s', (version, refuses) =>
  expect(refusesUprobes(version)).toBe(refuses),
);

describe('what the kernel refuses to the instrument', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'proc-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const without = 'Name:\tobi\nCapEff:\t000000c001082004\n';

  test('is nothing where the instrument has SYS_ADMIN, or where its process cannot be seen', async () => {
    put('version', 'Linux version 6.17.0 (me@here)');
    put('7/status', 'Name:\tobi\nCapEff:\t000001ffffffffff\n');
    expect(await captureLimits(7, root)).toEqual([]);
    expect(await captureLimits(8, root)).toEqual([]);
  });

  test.each([
    [
      {
        version:
          'Linux version 6.1.0-56-cloud-amd64 (x@debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld for Debian) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-11-16)',
      },
      'Linux 6.1.192 refuses',
    ],
    [{ version: 'Linux version 6.12.40-talos (x) #1 SMP' }, 'Linux 6.12.40 refuses'],
    [
      { version: 'Linux version 6.8.0-64-generic (x)', version_signature: 'Ubuntu 6.8.0-64.67-generic 6.8.12\n' },
      'Linux 6.8.12 may refuse',
    ],
    // The kernel of Red Hat has CAP_PERFMON; that of Ubuntu 20.04 does not.
    [{ version: 'Linux version 4.18.0-553.el8_10.x86_64 (x)' }, 'Linux 4.18.0 may refuse'],
    [{ version: 'Linux version 5.4.0-216-generic (x)' }, 'Linux 5.4.0 may refuse'],
    [{}, 'the kernel may refuse'],
  ])('is certain or only possible, depending on the version of the kernel: %o', async (files, words) => {
    put('7/status', without);
    for (const [name, text] of Object.entries(files)) put(name, text);
    const limits = await captureLimits(7, root);
    expect(limits).toEqual([{ certain: !words.includes('may'), message: expect.stringContaining(words) }]);
    expect(limits[0]!.message).toMatch(/Go programs.*TLS.*--instrument-privileges=sys-admin/);
  });
});
