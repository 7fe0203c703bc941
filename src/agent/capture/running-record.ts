import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type CaptureConfig, parseCaptureConfig } from '../../capture/index.ts';
import { readIfPresent, replaceFile } from './durable-file.ts';
import { configMode } from './last-good.ts';

/** What is kept on disk while the instrument runs another file than the one in place. */
export interface RunningRecord {
  /** The config whose file it runs. */
  readonly config: CaptureConfig;
  /** It may not restart yet for the file in place. */
  readonly held: boolean;
}

const fileName = 'capture-running.json';

/** Reads the record; null without one. A damaged record, or one of another node, is skipped with a warning. */
export async function loadRunning(dataDir: string, node: string, logger: Logger): Promise<RunningRecord | null> {
  const path = join(dataDir, fileName);
  try {
    const bytes = await readIfPresent(path);
    if (!bytes) return null;
    const { config, held } = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
    const parsed = parseCaptureConfig(config);
    if (parsed.node === node) return { config: parsed, held: held === true };
    logger.warn('record of the running capture config is for another node', { path, node: parsed.node });
  } catch (error) {
    logger.warn('record of the running capture config cannot be used', { path, error: errorText(error) });
  }
  return null;
}

export async function saveRunning(dataDir: string, record: RunningRecord): Promise<void> {
  await replaceFile(join(dataDir, fileName), canonicalJson(record), configMode);
}

export async function forgetRunning(dataDir: string): Promise<void> {
  await rm(join(dataDir, fileName), { force: true });
}
