import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDir } from '../../src/agent/open-data-dir.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { needing, root } from '../../src/testing/needs.ts';
import { labelsFromObject, type Store } from '../../src/tsdb/index.ts';

/** The store of an agent on a volume that really is full, and on one that really is read-only. Mounting needs root. */
needing(root).describe('a volume', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'agent-volume-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', dir]);
  });
  afterEach(() => {
    execFileSync('umount', [dir]);
    rmSync(dir, { recursive: true });
  });

  const open = (): Promise<Store> =>
    openDataDir(dir, {
      dir: join(dir, 'store'),
      clock: systemClock,
      logger: silentLogger,
      externalLabels: labelsFromObject({ k8s_node_name: 'node-1' }),
      retentionMs: 86_400_000,
      retentionBytes: 1 << 30,
    });
  const labels = labelsFromObject({ __name__: 'up' });
  const fill = (): void => {
    try {
      execFileSync('dd', ['if=/dev/zero', `of=${join(dir, 'fill')}`, 'bs=64k'], { stdio: 'ignore' });
    } catch {
      // dd fails because the volume is full, which is the purpose.
    }
  };

  test('on a full volume commits fail until space is freed, and durable samples survive a restart', async () => {
    const now = Date.now();
    let store = await open();
    for (let i = 0; i < 100; i++) store.append(labels, now - 60_000 + i * 100, i);
    await store.commit();
    fill();
    for (let i = 0; i < 50_000; i++) store.append(labelsFromObject({ __name__: 'more', i: String(i) }), now, i);
    await expect(store.commit()).rejects.toMatchObject({ code: 'ERR_STORE_WRITE' });
    expect(store.stats().writeError).toMatch(/ENOSPC/);
    await store.close().catch(() => {});

    // What the store gave back at its end is used up as well.
    rmSync(join(dir, 'fill'));
    fill();
    expect(() => writeFileSync(join(dir, 'more'), 'x'.repeat(100))).toThrow(/ENOSPC/);
    store = await open();
    await expect(open()).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
    expect(store.latest([{ type: '=', name: '__name__', value: 'up' }], 0).map((s) => s.value)).toEqual([99]);
    store.append(labels, now, 100);
    await expect(store.commit()).rejects.toThrow(/ENOSPC/);
    rmSync(join(dir, 'fill'));
    await store.commit();
    await store.close();
    store = await open();
    expect(store.latest([{ type: '=', name: '__name__', value: 'up' }], 0).map((s) => s.value)).toEqual([100]);
    await store.close();
  });

  test('a start on a read-only volume fails and says what to do, and no sample is lost by it', async () => {
    const now = Date.now();
    const store = await open();
    store.append(labels, now - 1_000, 1);
    await store.commit();
    // A file that is open for writing would keep the volume writable.
    await store.close();
    execFileSync('mount', ['-o', 'remount,ro', dir]);
    await expect(open()).rejects.toMatchObject({
      code: 'ERR_STORE_WRITE',
      message: expect.stringMatching(/EROFS.*mount it writable/) as string,
    });
    execFileSync('mount', ['-o', 'remount,rw', dir]);
    const again = await open();
    expect(again.latest([], 0).map((s) => s.value)).toEqual([1]);
    await again.close();
  });
});
