/** The selection of a view's time window. */
import type { JSX } from 'preact';
import { setParams } from '../state/router.ts';
import { defaultWindow, windowOf, windows } from '../state/window.ts';

export function WindowChoice({ params }: { params: URLSearchParams }): JSX.Element {
  return (
    <label>
      <span class="quiet">last </span>
      <select
        aria-label="Window"
        value={windowOf(params)}
        onChange={(event) => {
          const { value } = event.currentTarget;
          setParams({ window: value === defaultWindow ? undefined : value });
        }}
      >
        {windows.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}
