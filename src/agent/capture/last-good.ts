import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type CaptureConfig, captureHash, parseCaptureConfig } from '../../capture/index.ts';
import { readIfPresent, replaceFile } from './durable-file.ts';

/** The capture config that the agent starts with until a controller pushes one. */
export interface LastGood {
  readonly hash: string;
  readonly config: CaptureConfig;
}

const fileName = 'capture-config.json';
/** The directory is a host path: no other user of the node may read what is captured where, or what is redacted. */
export const configMode = 0o640;

/** Reads the last good config. Null, with a warning, when it is damaged or belongs to another node. */
export async function loadLastGood(dataDir: string, node: string, logger: Logger): Promise<LastGood | null> {
  const path = join(dataDir, fileName);
  try {
    const bytes = await readIfPresent(path);
    if (!bytes) return null;
    const config = parseCaptureConfig(JSON.parse(bytes.toString('utf8')));
    if (config.node !== node) {
      logger.warn('last good capture config is for another node', { path, node: config.node });
      return null;
    }
    return { hash: captureHash(config), config };
  } catch (error) {
    logger.warn('last good capture config cannot be used', { path, error: errorText(error) });
    return null;
  }
}

export async function saveLastGood(dataDir: string, config: CaptureConfig): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await replaceFile(join(dataDir, fileName), canonicalJson(config), configMode);
}
