import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import { labelsFromObject, nodeFiles } from '../tsdb/index.ts';
import { openDataDir } from './open-data-dir.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'agent-data-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const options = (dataDir: string) => ({
  dir: join(dataDir, 'store'),
  clock: systemClock,
  logger: silentLogger,
  externalLabels: labelsFromObject({ k8s_node_name: 'node-1' }),
  retentionMs: 3_600_000,
  retentionBytes: 1 << 20,
});

test('a missing directory is created', async () => {
  const dataDir = join(dir, 'a/b');
  const store = await openDataDir(dataDir, options(dataDir));
  expect(store.stats().series).toBe(0);
  await store.close();
});

test('a directory that cannot be written ends the start; the error has its path, the reason and a remedy', async () => {
  writeFileSync(join(dir, 'file'), '');
  const dataDir = join(dir, 'file/data');
  await expect(openDataDir(dataDir, options(dataDir))).rejects.toMatchObject({
    code: 'ERR_STORE_WRITE',
    message: expect.stringMatching(/^data-dir .*file\/data: .*ENOTDIR.*; mount it writable/) as string,
  });
});

const systemError = (code: string): Error => Object.assign(new Error(code), { code });
const reading = 'let the user of the agent read and write it and the files in it';

const remedies: [cause: Error, remedy: string][] = [
  [systemError('ENOSPC'), 'make room on its volume'],
  [systemError('EDQUOT'), 'make room on its volume'],
  [systemError('EMFILE'), 'raise the limit of open files'],
  [systemError('ENFILE'), 'raise the limit of open files'],
  [systemError('ENOMEM'), 'give the agent more memory'],
  [new RangeError('Array buffer allocation failed'), 'give the agent more memory'],
  [systemError('EACCES'), reading],
  [systemError('EPERM'), reading],
  [systemError('EROFS'), 'mount it writable for the user of the agent, or name another one with --data-dir'],
];
const rows = remedies.map(([cause, remedy]) => [cause.message, remedy, cause] as const);
test.each(rows)('if the data cannot be opened (%s), the remedy is: %s', async (_message, remedy, cause) => {
  const files = { ...nodeFiles, makeDir: () => Promise.reject(cause) };
  await expect(openDataDir(dir, { ...options(dir), files })).rejects.toMatchObject({
    code: 'ERR_STORE_WRITE',
    message: `data-dir ${dir}: ${cause.message}; ${remedy}`,
  });
});

test('an error of the store is passed on unchanged', async () => {
  const store = await openDataDir(dir, options(dir));
  await expect(openDataDir(dir, options(dir))).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
  await store.close();
});
