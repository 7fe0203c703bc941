type Column = Uint8Array | Uint16Array | Int32Array | Uint32Array | Float64Array;

/** A longer copy of a typed array. */
export function grown<T extends Column>(column: T, capacity: number): T {
  const Kind = column.constructor as new (length: number) => T;
  const longer = new Kind(capacity);
  longer.set(column as never);
  return longer;
}
