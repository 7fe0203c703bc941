import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { FileLayer } from '../disk/file-layer.ts';
import { changeFile } from '../disk/write-durably.ts';
import { checkRecords, readRecords, recordType } from './record.ts';
import type { Damage, RecordSink } from './record.ts';
import { segmentMagic } from './wal.ts';

const checkpointName = /^checkpoint\.(\d{8})$/;
const segmentFile = /^\d{8}$/;

export interface WalRecovery {
  /** Number of the first new segment: above every segment and every checkpoint that was found. */
  readonly nextIndex: number;
  readonly segments: readonly { readonly index: number; readonly bytes: number }[];
  readonly records: number;
  readonly cutBytes: number;
  /** Bytes of damaged segments that could be neither read nor cut off. */
  readonly leftBytes: number;
}

/**
 * Reads the newest complete checkpoint, then every later segment in order.
 * Damage is cut off. A torn tail of the last segment (a crash during a write that was not acknowledged) is logged as a
 * warning. A bad checksum, or an earlier segment that ends early, is logged as an error, and the bytes from there on
 * are copied to `quarantine`; a damaged checkpoint is moved there. A segment whose bytes cannot be copied, as on a full
 * disk, stays as it is until a checkpoint replaces it; each start until then tries again.
 * Segments after a damaged one are still read, since acknowledged samples in them must not be lost.
 */
export async function recoverWal(
  dir: string,
  quarantine: string,
  files: FileLayer,
  logger: Logger,
  sink: RecordSink,
): Promise<WalRecovery> {
  const names = await files.list(dir);
  for (const name of names.filter((n) => n.endsWith('.tmp'))) await files.remove(`${dir}/${name}`);
  const checkpoints = names.flatMap((n) => checkpointName.exec(n)?.[1] ?? []).map(Number);
  const indexes = names.filter((n) => segmentFile.test(n)).map(Number);
  const base = await newestCheckpoint(
    dir,
    checkpoints.sort((a, b) => b - a),
    quarantine,
    files,
    logger,
    sink,
  );

  const segments: { index: number; bytes: number }[] = [];
  let records = base.records;
  let cutBytes = 0;
  let leftBytes = 0;
  const last = Math.max(...indexes);
  for (const index of indexes.sort((a, b) => a - b)) {
    const path = `${dir}/${String(index).padStart(8, '0')}`;
    if (index <= base.index) {
      await files.remove(path);
      continue;
    }
    const bytes = await files.readAll(path);
    const read = hasMagic(bytes)
      ? readRecords(bytes, segmentMagic.length, sink)
      : { records: 0, damage: { at: 0, reason: bytes.length < segmentMagic.length ? 'torn' : 'format' } as const };
    records += read.records;
    let kept = bytes.length;
    if (read.damage) {
      // A segment is on disk as a whole before the next one begins, so no crash tears it.
      const isTorn = read.damage.reason === 'torn' && index === last;
      kept = await cutSegment(path, bytes, read.damage, isTorn, quarantine, files, logger);
      cutBytes += bytes.length - kept;
      leftBytes += kept - read.damage.at;
    }
    if (kept > 0) segments.push({ index, bytes: kept });
  }
  return { nextIndex: Math.max(0, ...checkpoints, ...indexes) + 1, segments, records, cutBytes, leftBytes };
}

async function newestCheckpoint(
  dir: string,
  indexes: readonly number[],
  quarantine: string,
  files: FileLayer,
  logger: Logger,
  sink: RecordSink,
): Promise<{ index: number; records: number }> {
  let found = { index: 0, records: 0 };
  for (const index of indexes) {
    const path = `${dir}/checkpoint.${String(index).padStart(8, '0')}`;
    if (found.index > 0) {
      await files.remove(path);
      continue;
    }
    const bytes = await files.readAll(path);
    // Read twice: no record may reach the head unless the whole checkpoint is valid.
    if (isWhole(bytes)) found = { index, records: readRecords(bytes, segmentMagic.length, sink, false).records };
    else {
      logger.error('store: checkpoint is damaged and set aside, trying an older one', { path, quarantine });
      await files.makeDir(quarantine);
      await files.rename(path, `${quarantine}/wal-${path.slice(path.lastIndexOf('/') + 1)}`);
    }
  }
  return found;
}

function isWhole(bytes: Uint8Array): boolean {
  let whole = false;
  return (
    hasMagic(bytes) &&
    !checkRecords(bytes, segmentMagic.length, (type) => (whole = type === recordType.checkpointEnd)) &&
    whole
  );
}

/** Returns the length of the file afterwards. */
async function cutSegment(
  path: string,
  bytes: Uint8Array,
  { at, reason }: Damage,
  isTorn: boolean,
  quarantine: string,
  files: FileLayer,
  logger: Logger,
): Promise<number> {
  const fields = { path, at, bytes: bytes.length - at, reason };
  if (isTorn) logger.warn('store: cut the torn end of a log segment', fields);
  else {
    logger.error('store: damaged log segment, the rest of it is set aside', { ...fields, quarantine });
    const copy = `${quarantine}/wal-${path.slice(path.lastIndexOf('/') + 1)}-${at}`;
    try {
      await files.makeDir(quarantine);
      await files.remove(copy);
      await changeFile(files, copy, 'create', (file) => file.write(bytes.subarray(at), 0));
    } catch (error) {
      await files.remove(copy).catch(() => {});
      logger.error('store: the rest of a damaged log segment cannot be set aside, it stays', {
        ...fields,
        error: errorText(error),
      });
      return bytes.length;
    }
  }
  if (at === 0) await files.remove(path);
  else await changeFile(files, path, 'existing', (file) => file.truncate(at));
  return at;
}

function hasMagic(bytes: Uint8Array): boolean {
  return bytes.length >= segmentMagic.length && segmentMagic.every((byte, i) => bytes[i] === byte);
}
