/** A table whose columns sort. The order is the caller's state, so that a link can restore it. */
import type { ComponentChildren, JSX } from 'preact';
import { sorted, type Order } from './sort.ts';

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** What it is sorted by; without one the column does not sort. null stands at the end either way. */
  readonly by?: (row: T) => number | string | null;
  readonly numeric?: boolean;
  /** Left out where the page is narrow. */
  readonly wide?: boolean;
}

export function Table<T>(props: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  order: Order;
  onOrder: (order: Order) => void;
  /** Most rows that are shown, after sorting. Default: all. */
  most?: number;
}): JSX.Element {
  const { label, columns, rows, keyOf, order, onOrder, most = Infinity } = props;
  const by = columns.find(({ key }) => key === order.key)?.by;
  const shown = by ? sorted(rows, by, order.down) : rows;
  const classOf = ({ numeric, wide }: Column<T>): string => [numeric ? 'num' : '', wide ? 'wide' : ''].join(' ').trim();
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                class={classOf(column)}
                aria-sort={column.key !== order.key ? undefined : order.down ? 'descending' : 'ascending'}
              >
                {column.by ? (
                  <button
                    type="button"
                    class="sort"
                    onClick={() => {
                      const same = column.key === order.key;
                      onOrder({ key: column.key, down: same ? !order.down : column.numeric === true });
                    }}
                  >
                    {column.title}
                    <span aria-hidden="true">{column.key !== order.key ? '' : order.down ? ' ↓' : ' ↑'}</span>
                  </button>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, most).map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.key} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
