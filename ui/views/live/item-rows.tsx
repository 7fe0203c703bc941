/** Spans and flows as a table of bounded length; each row opens its details. */
import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { StreamMessage } from '../../api/stream.ts';
import { signs } from '../../parts/level.ts';
import { ItemDetails } from './item-details.tsx';
import { wordsOf } from './item-words.ts';

export interface ItemRow {
  readonly id: number | string;
  readonly message: StreamMessage;
}

export interface ItemsProps {
  readonly label: string;
  readonly rows: readonly ItemRow[];
  /** Called when a row gets the focus, by keyboard or pointer. */
  readonly onReading?: () => void;
  /** Called with true when details are opened, with false when they are closed or removed with the rows. */
  readonly onDetails?: (open: boolean) => void;
}

/** Rows, and the details of the selected row, which stay open when that row is dropped. */
export function Items({ label, rows, onReading, onDetails }: ItemsProps): JSX.Element {
  const [chosen, setChosen] = useState<ItemRow>();
  useEffect(() => () => onDetails?.(false), []);
  const close = (): void => {
    setChosen(undefined);
    onDetails?.(false);
  };
  const choose = (row: ItemRow): void => {
    setChosen(row);
    onDetails?.(true);
  };
  return (
    <div class={chosen ? 'live with-item' : 'live'}>
      {chosen ? <ItemDetails {...chosen} close={close} /> : null}
      <Rows label={label} rows={rows} chosen={chosen?.id} onChoose={choose} onReading={onReading} />
    </div>
  );
}

interface RowsProps {
  readonly label: string;
  readonly rows: readonly ItemRow[];
  readonly chosen: ItemRow['id'] | undefined;
  readonly onChoose: (row: ItemRow) => void;
  readonly onReading: (() => void) | undefined;
}

/** The arrow keys move between rows. */
function Rows({ label, rows, chosen, onChoose, onReading }: RowsProps): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="items">
        <thead>
          <tr>
            <th scope="col" class="time">
              Time
            </th>
            <th scope="col">What</th>
            <th scope="col" class="outcome">
              Status
            </th>
            <th scope="col" class="num size">
              Took
            </th>
            <th scope="col" class="wide">
              From
            </th>
            <th scope="col">To</th>
            <th scope="col" class="wide node">
              Node
            </th>
          </tr>
        </thead>
        <tbody onFocusIn={onReading} onKeyDown={moveFocus}>
          {rows.map((row) => (
            <Row key={row.id} row={row} isChosen={row.id === chosen} onChoose={onChoose} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: ItemRow;
  readonly isChosen: boolean;
  readonly onChoose: (row: ItemRow) => void;
}

/** A row depends on nothing but itself, so existing rows are not rendered again when new ones arrive. */
function Row({ row, isChosen, onChoose }: RowProps): JSX.Element {
  return useMemo(() => {
    const { time, what, outcome, level, size, from, to } = wordsOf(row.message);
    return (
      <tr class={isChosen ? 'is-chosen' : ''}>
        <td class="time mono">{time}</td>
        <td>
          <button type="button" class="plain" aria-pressed={isChosen} onClick={() => onChoose(row)} title={what}>
            {what}
          </button>
        </td>
        <td class={`outcome share ${level}`}>
          {signs[level] === '' ? null : <span aria-hidden="true">{signs[level]} </span>}
          {outcome}
        </td>
        <td class="num size">{size}</td>
        <td class="wide" title={from}>
          {from}
        </td>
        <td title={to}>{to}</td>
        <td class="wide node">{row.message.node}</td>
      </tr>
    );
  }, [row, isChosen]);
}

function moveFocus(event: TargetedKeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const own = event.target instanceof Element ? event.target.closest('tr') : null;
  const other = event.key === 'ArrowDown' ? own?.nextElementSibling : own?.previousElementSibling;
  const button = other?.querySelector('button');
  if (!button) return;
  event.preventDefault();
  button.focus();
}
