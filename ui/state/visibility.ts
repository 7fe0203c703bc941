/** Whether the user sees the page. */
import type { Visibility } from './repeat.ts';

export const visibility: Visibility = {
  isHidden: () => document.hidden,
  onReturn: (listener) => {
    const changed = (): void => {
      if (!document.hidden) listener();
    };
    document.addEventListener('visibilitychange', changed);
    window.addEventListener('focus', listener);
    return () => {
      document.removeEventListener('visibilitychange', changed);
      window.removeEventListener('focus', listener);
    };
  },
};
