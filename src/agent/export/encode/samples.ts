import type { WireWriter } from '../../../base/wire/protobuf-wire.ts';
import type { QueuedExemplar, QueuedSample } from '../queue/record.ts';

/** The stale marker's bit pattern, little-endian; a JavaScript number could lose it. Source: Prometheus. */
const staleBits = Uint8Array.of(2, 0, 0, 0, 0, 0, 0xf0, 0x7f);

/**
 * Writes the samples of a time series, then their exemplars, for both versions of remote write. The versions differ
 * only in the number of the exemplars' field and in the form of the exemplars' labels.
 */
export function writeSamples(
  out: WireWriter,
  samples: readonly QueuedSample[],
  exemplarField: number,
  writeLabels: (out: WireWriter, exemplar: QueuedExemplar) => void,
): void {
  for (const { value, timeMs, stale } of samples) {
    out.message(2, (w) => {
      if (stale) w.key(1, 1).raw(staleBits);
      else w.double(1, value);
      w.int(2, timeMs);
    });
  }
  for (const { exemplar } of samples) {
    if (!exemplar) continue;
    out.message(exemplarField, (w) => {
      writeLabels(w, exemplar);
      w.double(2, exemplar.value).int(3, exemplar.timeMs);
    });
  }
}
