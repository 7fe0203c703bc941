/** Everything about one chosen thing, beside or above what it was chosen from. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface DetailsProps {
  /** Identifies what is shown. */
  readonly of: string | number;
  readonly label: string;
  readonly title: ComponentChildren;
  /** Where it lies: `item` beside a table, `chosen` over the map. */
  readonly class: 'item' | 'chosen';
  /** Whether the user chose it in this view. What only the address chose does not take the focus. */
  readonly isChosenHere: boolean;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/**
 * Takes the focus when it opens or shows another thing. Escape and its button close it; the focus then returns to where
 * it was, or to the view if that is gone. Where it lies over the whole page it closes when the focus leaves it.
 */
export function Details(props: DetailsProps): JSX.Element {
  const { of, label, title, class: place, isChosenHere, close, children } = props;
  const panel = useRef<HTMLElement>(null);
  const opener = useRef<HTMLElement>(undefined);
  useEffect(() => {
    if (!isChosenHere) return;
    const before = document.activeElement;
    // If the focused button in this panel has been removed, the body has the focus: then the opener stays the former one.
    if (before instanceof HTMLElement && before !== document.body && !panel.current!.contains(before)) {
      opener.current = before;
    }
    // Beside a table it is in sight, and the rows stay under the pointer. The map may be far above its table.
    panel.current!.focus({ preventScroll: place === 'item' });
  }, [of, isChosenHere]);
  useEffect(
    () => () => {
      // The panel is gone: what had the focus in it leaves it to the body.
      if (document.activeElement !== document.body) return;
      if (opener.current?.isConnected) opener.current.focus();
      else document.getElementById('main')?.focus({ preventScroll: true });
    },
    [],
  );
  return (
    <aside
      class={place}
      ref={panel}
      tabIndex={-1}
      aria-label={label}
      onFocusOut={({ currentTarget: own, relatedTarget: next }) => {
        // A panel over the page would hide what gets the focus.
        if (next instanceof Node && !own.contains(next) && getComputedStyle(own).position === 'fixed') close();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      <div class="row">
        <h2>{title}</h2>
        <button type="button" class="plain" onClick={close}>
          Close
        </button>
      </div>
      {children}
    </aside>
  );
}
