import { setImmediate as nextTurn } from 'node:timers/promises';
import { ByteWriter } from './bytes.ts';
import type { FileLayer } from './disk/file-layer.ts';
import type { Head } from './head/head.ts';
import { checkpointStartPayload, chunkPayload, recordType, writeFrame } from './wal/record.ts';
import { SeriesRecordWriter } from './wal/series-record.ts';
import { segmentMagic, segmentName } from './wal/wal.ts';

const batchBytes = 1 << 20;
const seriesPerTurn = 500;

/**
 * Writes the head into `checkpoint.<index>`, so that log segments up to `index` are no longer needed.
 * Assumptions: a sample of a later segment may be in the checkpoint as well; replay accepts duplicates.
 * Guarantees: the checkpoint is written under another name, synced and renamed; without its last record it is invalid.
 * Appends may continue while it is written.
 */
export async function writeCheckpoint(dir: string, files: FileLayer, head: Head, index: number): Promise<void> {
  const path = `${dir}/checkpoint.${segmentName(index)}`;
  const temporary = `${path}.tmp`;
  const { view, refs } = head.viewAll();
  const start = checkpointStartPayload(head.minValidT, head.nextRef);
  try {
    await files.remove(temporary);
    const file = await files.openWrite(temporary, 'create');
    try {
      let written = 0;
      const out = new ByteWriter(batchBytes + 65_536);
      const drain = async (): Promise<void> => {
        await file.write(out.view(), written);
        written += out.length;
        out.clear();
      };
      out.bytes(segmentMagic);
      writeFrame(out, recordType.checkpointStart, start);
      const series = new ByteWriter(32_768);
      for (let from = 0; from < view.size; from += seriesPerTurn) {
        if (from > 0) await nextTurn();
        const to = Math.min(from + seriesPerTurn, view.size);
        // A series that is written as its difference from the previous one takes a tenth of the bytes, and replay looks
        // up fewer labels.
        const writer = new SeriesRecordWriter();
        for (let i = from; i < to; i++) {
          writer.add(series, refs[i]!, view.labels(i));
          // Labels may be long, and recovery refuses long records.
          if (i + 1 < to && series.length < batchBytes) continue;
          writeFrame(out, recordType.newSeries, series.view());
          series.clear();
          writer.reset();
          if (out.length >= batchBytes) await drain();
        }
        for (let i = from; i < to; i++) {
          for (const chunk of view.lentChunks(i))
            writeFrame(out, recordType.encodedChunk, chunkPayload(refs[i]!, chunk));
          if (out.length >= batchBytes) await drain();
        }
      }
      writeFrame(out, recordType.checkpointEnd, new Uint8Array(0));
      await drain();
      await file.sync();
    } catch (error) {
      await file.close().catch(() => {});
      await files.remove(temporary).catch(() => {});
      throw error;
    }
    await file.close();
  } finally {
    view.close();
  }
  await files.rename(temporary, path);
  await files.syncDir(dir);
  for (const name of await files.list(dir)) {
    if (name.startsWith('checkpoint.') && name < `checkpoint.${segmentName(index)}`)
      await files.remove(`${dir}/${name}`);
  }
}
