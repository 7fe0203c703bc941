/** Dark or light: the system's setting until the user chooses here. */
import { readStored, store } from '../api/storage.ts';

export type Theme = 'system' | 'light' | 'dark';

const key = 'svc-theme';
export const themes: readonly Theme[] = ['system', 'light', 'dark'];

export function savedTheme(): Theme {
  const saved = readStored('localStorage', key);
  return themes.find((theme) => theme === saved) ?? 'system';
}

/** Applies a theme and stores it. Canvases redraw on the window's `themechange` event. */
export function applyTheme(theme: Theme): void {
  store('localStorage', key, theme);
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  dispatchEvent(new Event('themechange'));
}

/** The value of a colour in the style sheet, for canvases, also where the user forces other colours on the page. */
export function colourOf(name: string): string {
  const probe = document.createElement('i');
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  probe.style.setProperty('forced-color-adjust', 'none');
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** Calls `listener` when the colours change. Returns the function that unsubscribes. */
export function onThemeChange(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  addEventListener('themechange', listener);
  system.addEventListener('change', listener);
  return () => {
    removeEventListener('themechange', listener);
    system.removeEventListener('change', listener);
  };
}
