import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { FileLayer } from './file-layer.ts';

interface SetAside {
  readonly path: string;
  readonly bytes: number;
  /** Its newest sample is older: the end of a block's range, else when the file was last written. Units: ms. */
  readonly endMs: number;
}

const ofBlock = /^\d{15}-(\d{15})\.(?:block|tombstones)$/;

/**
 * Removes damaged files that were set aside and end at or before `oldest` (ms since the epoch), then the oldest ones
 * while all and the `used` bytes of the blocks are more than `cap`: blocks can be queried, these cannot. A file that
 * cannot be removed is logged, and tried again by the next upkeep: it neither keeps blocks nor drives them out.
 * Returns the bytes of the files that are to stay.
 */
export async function retainSetAside(
  dir: string,
  files: FileLayer,
  logger: Logger,
  { oldest, used, cap }: { oldest: number; used: number; cap: number },
): Promise<number> {
  const found: SetAside[] = [];
  try {
    for (const name of await files.list(dir)) found.push(await setAside(dir, name, files));
  } catch (error) {
    logger.error('store: damaged files cannot be looked at', { path: dir, error: errorText(error) });
  }
  let total = found.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { path, bytes, endMs } of found.toSorted((a, b) => a.endMs - b.endMs)) {
    if (endMs > oldest && used + total <= cap) continue;
    total -= bytes;
    try {
      await files.remove(path);
      logger.info('store: damaged file removed', { path, bytes, why: 'retention' });
    } catch (error) {
      logger.error('store: damaged file cannot be removed', { path, error: errorText(error) });
    }
  }
  return total;
}

async function setAside(dir: string, name: string, files: FileLayer): Promise<SetAside> {
  const path = `${dir}/${name}`;
  const { bytes, writtenMs } = await files.stat(path);
  const end = ofBlock.exec(name)?.[1];
  return { path, bytes, endMs: end === undefined ? writtenMs : Number(end) };
}
