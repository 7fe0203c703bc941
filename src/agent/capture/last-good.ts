import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { errorText, isBlameless } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type CaptureConfig, captureHash, parseCaptureConfig } from '../../capture/index.ts';
import { unusableDataDir } from '../open-data-dir.ts';
import { keepFile, readIfPresent, replaceFile } from './durable-file.ts';

/** The last good capture config. After a start, the agent uses it until the operator pushes a config. */
export interface LastGood {
  readonly hash: string;
  readonly config: CaptureConfig;
}

const fileName = 'capture-config.json';
/** The directory is a host path: other users of the node must not learn which data is captured or redacted. */
const configMode = 0o640;

/**
 * Why no saved config can be used. `absent`: none was ever saved. `unusable`: the file is damaged, or was written by
 * another version or for another node.
 */
export type Missing = 'absent' | 'unusable';

/**
 * Reads the last good config. When it is unusable, this is logged as a warning.
 * Errors: ERR_STORE_WRITE, with the remedy, if it cannot read the file for lack of memory, file descriptors or a right,
 * as for all files below. The file may be sound, so the agent should start again rather than without it.
 */
export async function loadLastGood(dataDir: string, node: string, logger: Logger): Promise<LastGood | Missing> {
  const file = { name: fileName, what: 'last good capture config' };
  const kept = await loadKept(dataDir, file, node, logger, (json) => json);
  return typeof kept === 'string' ? kept : { hash: captureHash(kept.config), config: kept.config };
}

/**
 * Reads a saved config and the JSON that contains it; `member` picks the config from that JSON. When it is unusable,
 * this is logged as a warning.
 */
async function loadKept(
  dataDir: string,
  { name, what }: { readonly name: string; readonly what: string },
  node: string,
  logger: Logger,
  member: (json: unknown) => unknown,
): Promise<{ config: CaptureConfig; json: unknown } | Missing> {
  const path = join(dataDir, name);
  try {
    const bytes = await readIfPresent(path);
    if (!bytes) return 'absent';
    const json: unknown = JSON.parse(bytes.toString('utf8'));
    const config = parseCaptureConfig(member(json));
    if (config.node === node) return { config, json };
    logger.warn(`${what} is for another node`, { path, node: config.node });
  } catch (error) {
    if (isBlameless(error)) throw unusableDataDir(dataDir, error);
    logger.warn(`${what} cannot be used`, { path, error: errorText(error) });
  }
  return 'unusable';
}

export async function saveLastGood(dataDir: string, config: CaptureConfig): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await replaceFile(join(dataDir, fileName), canonicalJson(config), configMode);
}

const retentionName = 'retention.json';

/**
 * Saves the retention of series by itself. An agent that cannot use its last good config, which may be of another
 * version, must not delete by another retention before the operator reaches it.
 */
export async function saveRetention(dataDir: string, metrics: CaptureConfig['retention']['metrics']): Promise<void> {
  await keepFile(join(dataDir, retentionName), canonicalJson(metrics));
}

/** The saved retention of series; empty, with a warning, when it is damaged, and without one. */
export async function loadRetention(
  dataDir: string,
  logger: Logger,
): Promise<{ readonly timeMs?: number; readonly sizeBytes?: number }> {
  const path = join(dataDir, retentionName);
  try {
    const { timeMs, sizeBytes } = JSON.parse((await readIfPresent(path))?.toString('utf8') ?? '{}') as Record<
      string,
      unknown
    >;
    return {
      ...(typeof timeMs === 'number' ? { timeMs } : {}),
      ...(typeof sizeBytes === 'number' ? { sizeBytes } : {}),
    };
  } catch (error) {
    if (isBlameless(error)) throw unusableDataDir(dataDir, error);
    logger.warn('saved retention cannot be used', { path, error: errorText(error) });
    return {};
  }
}

/** The record that is saved while the instrument still runs an earlier file than the one on disk. */
export interface RunningRecord {
  /** The config whose file the instrument runs. */
  readonly config: CaptureConfig;
  /** True while the instrument may not restart yet to load the file on disk. */
  readonly held: boolean;
}

const runningName = 'capture-running.json';

/** Reads the record; null without one. A damaged record, or one of another node, is skipped with a warning. */
export async function loadRunning(dataDir: string, node: string, logger: Logger): Promise<RunningRecord | null> {
  const file = { name: runningName, what: 'record of the running capture config' };
  const member = (json: unknown): unknown => (json as Partial<RunningRecord>).config;
  const kept = await loadKept(dataDir, file, node, logger, member);
  if (typeof kept === 'string') return null;
  return { config: kept.config, held: (kept.json as Partial<RunningRecord>).held === true };
}

export async function saveRunning(dataDir: string, record: RunningRecord): Promise<void> {
  await replaceFile(join(dataDir, runningName), canonicalJson(record), configMode);
}

export async function forgetRunning(dataDir: string): Promise<void> {
  await rm(join(dataDir, runningName), { force: true });
}
