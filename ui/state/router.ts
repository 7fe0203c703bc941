/** The browser's URL as state: the view and its parameters. Links, views, and back and forward change it. */
import { useEffect, useState } from 'preact/hooks';
import { addressOf, placeOf, withParams, type Place, type View } from './place.ts';

const listeners = new Set<(place: Place) => void>();
const here = (): Place => placeOf(location);

/** A screen reader announces the new place; what had the focus before may be gone. */
function moved(): void {
  changed();
  document.getElementById('main')?.focus({ preventScroll: true });
}

function changed(): void {
  const place = here();
  for (const listener of listeners) listener(place);
}

/** Changes parameters of the current view, in the same history entry. */
export function setParams(changes: Readonly<Record<string, string | undefined>>): void {
  const { view, params } = here();
  history.replaceState(null, '', addressOf(view, withParams(params, changes)));
  changed();
}

/** Replaces all parameters of the current view. */
export function replaceParams(view: View, params: URLSearchParams): void {
  history.replaceState(null, '', addressOf(view, params));
  changed();
}

/** Makes links to views change the place without reloading the page, and focus the new view. Called once. */
export function followLinks(): void {
  addEventListener('popstate', moved);
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target || link.origin !== location.origin || link.hasAttribute('download')) return;
    if (link.getAttribute('href')?.startsWith('#')) return;
    event.preventDefault();
    history.pushState(null, '', link.href);
    scrollTo(0, 0);
    moved();
  });
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    listeners.add(setPlace);
    return () => void listeners.delete(setPlace);
  }, []);
  return place;
}
