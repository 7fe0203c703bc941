/** The order of a table: a column and a direction, as in the URL (`rate`, `-rate`). Pure. */
export interface Order {
  readonly key: string;
  readonly down: boolean;
}

export function orderOf(text: string | null, otherwise: Order): Order {
  if (!text) return otherwise;
  return text.startsWith('-') ? { key: text.slice(1), down: true } : { key: text, down: false };
}

export const orderText = ({ key, down }: Order): string => (down ? `-${key}` : key);

/** A sorted copy; equal rows keep their order, and rows without a value come last in both directions. */
export function sorted<T>(rows: readonly T[], by: (row: T) => number | string | null, down: boolean): T[] {
  return rows.toSorted((a, b) => {
    const [x, y] = [by(a), by(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const order = typeof x === 'string' || typeof y === 'string' ? String(x).localeCompare(String(y)) : x - y;
    return down ? -order : order;
  });
}
