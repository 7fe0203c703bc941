import type { Logger } from '../base/logger.ts';
import { keepFile } from './capture/durable-file.ts';
import { startConfig } from './capture/start-config.ts';
import { installSupervisor } from './supervisor/install-supervisor.ts';
import { handOverDataDir } from './data-owner.ts';
import type { InitConfigSettings } from './settings.ts';

/**
 * Writes the instrument's file, that of `startConfig`, before the instrument starts: it exits without a file. Also
 * installs the supervisor into the instrument's container. Runs as an init container and ends.
 * Errors: those of the file system, ERR_STORE_WRITE when it cannot read the data directory, and ERR_CONFIG_INVALID for
 * an unknown instrument version.
 */
export async function initConfig(settings: InitConfigSettings, deps: { logger: Logger }): Promise<void> {
  await handOverDataDir(settings.dataDir, settings.dataOwner);
  const { config, source } = await startConfig(settings, deps.logger);
  if (settings.supervisorDir !== '') await installSupervisor(settings.supervisorDir);
  const changed = await keepFile(settings.instrumentConfig, config.instrument.yaml);
  deps.logger.info('instrument configuration in place', { path: settings.instrumentConfig, source, changed });
}
