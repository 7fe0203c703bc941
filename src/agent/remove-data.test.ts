import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../base/logger.ts';
import { removeData } from './remove-data.ts';

const deps = { logger: silentLogger, signal: new AbortController().signal };

test('the folder stays and its contents are deleted; an empty or missing folder is not an error', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-data-'));
  await mkdir(join(dataDir, 'wal'));
  await writeFile(join(dataDir, 'wal', '000001'), 'x');
  await removeData({ dataDir, stay: false, logLevel: 'info' }, deps);
  expect(await readdir(dataDir)).toEqual([]);
  await removeData({ dataDir, stay: false, logLevel: 'info' }, deps);
  await rm(dataDir, { recursive: true });
  await removeData({ dataDir, stay: false, logLevel: 'info' }, deps);
});
