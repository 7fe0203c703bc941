/** A table with sortable columns. The order is the caller's state, so that a link can restore it. */
import { Component, type ComponentChildren, type JSX } from 'preact';
import { useDrawnRows } from './drawn-rows.ts';
import { sorted, type Order } from './sort.ts';

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** The sort value; a column without one is not sortable. null comes last in both directions. */
  readonly by?: (row: T) => number | string | null;
  readonly numeric?: boolean;
  /** Hidden on a narrow page. */
  readonly wide?: boolean;
}

const classOf = ({ numeric, wide }: Column<never>): string =>
  [numeric ? 'num' : '', wide ? 'wide' : ''].join(' ').trim();

interface RowProps {
  readonly columns: readonly Column<never>[];
  readonly row: unknown;
  /** Its position in the whole table for screen readers; the head is 1. */
  readonly index: number;
}

/** A row is rendered again only when it, its position or the columns change. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate({ columns, row, index }: RowProps): boolean {
    return row !== this.props.row || columns !== this.props.columns || index !== this.props.index;
  }

  override render({ columns, row, index }: RowProps): JSX.Element {
    return (
      <tr aria-rowindex={index}>
        {columns.map((column) => (
          <td key={column.key} class={classOf(column)}>
            {column.cell(row as never)}
          </td>
        ))}
      </tr>
    );
  }
}

/** Create columns once if possible: new ones make every row render again. */
export function Table<T>(props: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  order: Order;
  onOrder: (order: Order) => void;
  /** No more than this many rows are shown: the first ones after sorting. Default: all. */
  most?: number;
}): JSX.Element {
  const { label, columns, rows, keyOf, order, onOrder, most = Infinity } = props;
  const by = columns.find(({ key }) => key === order.key)?.by;
  const shown = by ? sorted(rows, by, order.down) : rows;
  const drawn = useDrawnRows(Math.min(shown.length, most));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
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
          {shown.slice(0, drawn).map((row, i) => (
            <Row key={keyOf(row)} columns={columns} row={row} index={i + 2} />
          ))}
        </tbody>
      </table>
    </div>
  );
}
