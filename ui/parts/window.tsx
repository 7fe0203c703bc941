/** The time that a view is about, up to now. */
import type { JSX } from 'preact';
import { setParams } from '../state/router.ts';

export const windows = ['5m', '15m', '1h', '6h'] as const;
export const defaultWindow = '5m';

/** The window of an address; one that is not offered becomes the default, since a link may say anything. */
export function windowOf(params: URLSearchParams): string {
  return windows.find((each) => each === params.get('window')) ?? defaultWindow;
}

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
