import type { WireWriter } from '../../../base/wire/protobuf-wire.ts';

/** The stale marker's bit pattern, little-endian; a JavaScript number could lose it. Source: Prometheus. */
const staleBits = Uint8Array.of(2, 0, 0, 0, 0, 0, 0xf0, 0x7f);

/** A double field that may be a stale marker. */
export function writeValue(out: WireWriter, field: number, value: number, stale: boolean): void {
  if (stale) out.key(field, 1).raw(staleBits);
  else out.double(field, value);
}
