import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { handOverDataDir } from './data-owner.ts';

describe('handOverDataDir', () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-data-owner-'));
  const dataDir = join(root, 'svc-agent');
  const calls: unknown[][] = [];
  const record = (...call: unknown[]) => {
    calls.push(call);
    return Promise.resolve();
  };

  beforeEach(() => calls.splice(0));
  afterAll(() => rmSync(root, { recursive: true }));

  test('leaves everything alone without an owner, or where it does not run as root', async () => {
    await handOverDataDir(dataDir, '', { isRoot: true, chown: record });
    await handOverDataDir(dataDir, '65532:65532', { isRoot: false, chown: record });
    expect(calls).toEqual([]);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('makes the directory and gives it to the owner where it runs as root', async () => {
    await handOverDataDir(dataDir, '65532:65532', { isRoot: true, chown: record });
    expect(existsSync(dataDir)).toBe(true);
    expect(calls).toEqual([[dataDir, 65532, 65532]]);
  });
});
