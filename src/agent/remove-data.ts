import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { aborted } from '../base/aborted.ts';
import { errorText, OperatorError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { booleanSetting, logLevelSetting, textSetting, type SettingValues } from '../base/settings.ts';

/** Flags of `svc agent remove-data`, which an uninstall runs on every node when data is to be removed too. */
export const removeDataSettingTable = {
  dataDir: textSetting({ help: 'folder of the store' }, /^\/[^\0]{1,255}$/, 'an absolute path'),
  stay: booleanSetting({
    help: 'wait for SIGTERM afterwards, so that a DaemonSet can tell that it is done',
    default: 'false',
  }),
  logLevel: logLevelSetting,
};

/**
 * Empties the store's folder. The folder itself is a mount and stays.
 * Errors: ERR_STORE_WRITE with the path that could not be removed.
 */
export async function removeData(
  settings: SettingValues<typeof removeDataSettingTable>,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<void> {
  const entries = await readdir(settings.dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const entry of entries) {
    const path = join(settings.dataDir, entry);
    try {
      await rm(path, { recursive: true, force: true });
    } catch (cause) {
      throw new OperatorError('ERR_STORE_WRITE', `cannot remove ${path}: ${errorText(cause)}`, { cause });
    }
  }
  logger.info('data removed', { dir: settings.dataDir, entries: entries.length });
  if (settings.stay) await untilAborted(signal);
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  // A pending promise alone does not keep a process alive.
  const alive = setInterval(() => {}, 60_000);
  await aborted(signal);
  clearInterval(alive);
}
