import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountParents } from './mount-parents.ts';

const dir = mkdtempSync(join(tmpdir(), 'svc-mount-parents-'));
const target = join(dir, 'volumes/rules');

beforeAll(() => {
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, '.yaml'), 'rules');
});
afterAll(() => rmSync(dir, { recursive: true }));

test('the folder above a mount path is mounted too, with that mount in it', async () => {
  const mounts = [{ mountPath: '/etc/minter/acme', target }];
  const expected = [{ mountPath: '/etc/minter', target: join(dir, 'root/etc/minter') }];
  expect(await mountParents(mounts, join(dir, 'root'))).toEqual(expected);
  // Again, as for a container that starts a second time.
  expect(await mountParents(mounts, join(dir, 'root'))).toEqual(expected);
  expect(readFileSync(join(dir, 'root/etc/minter/acme/.yaml'), 'utf8')).toBe('rules');
});

test('a parent folder that is mounted itself, lies in a mount, or is directly below / is left alone', async () => {
  const mounts = [
    { mountPath: '/etc/svc', target },
    { mountPath: '/etc/svc/tls', target },
    { mountPath: '/etc/svc/a/b', target },
  ];
  expect(await mountParents(mounts, join(dir, 'root'))).toEqual([]);
});
