import type { WireWriter } from '../../../base/wire/protobuf-wire.ts';

/** Writes a time, given in ms, as a `fixed64` field in ns. */
export function writeTime(out: WireWriter, field: number, timeMs: number): void {
  writeFixed(out, field, BigInt(Math.max(0, Math.round(timeMs))) * 1_000_000n);
}

export function writeFixed(out: WireWriter, field: number, value: bigint): void {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  out.key(field, 1).raw(bytes);
}

/** Writes a `KeyValue` with a string, number or boolean value. */
export function writeAttribute(out: WireWriter, field: number, key: string, value: unknown): void {
  out.message(field, (kv) =>
    kv.string(1, key).message(2, (v) => {
      if (typeof value === 'boolean') v.key(2, 0).rawVarint(value ? 1 : 0);
      else if (typeof value === 'number' && Number.isSafeInteger(value)) v.int(3, value);
      else if (typeof value === 'number') v.double(4, value);
      else v.string(1, typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
    }),
  );
}

/** Writes the `Resource` of everything that a node's agent sends. */
export function writeResource(out: WireWriter, attributes: Readonly<Record<string, string>>): void {
  out.message(1, (w) => {
    for (const [key, value] of Object.entries(attributes)) writeAttribute(w, 1, key, value);
  });
}
