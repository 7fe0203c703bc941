/** The time windows that the URL of a view can name. Each ends now. Pure. */

export const windows = ['5m', '15m', '1h', '6h'] as const;
export const defaultWindow = '5m';

/** The window for links to other views; undefined for the default window, which a URL leaves out. */
export function linkedWindow(params: URLSearchParams): string | undefined {
  const window = windowOf(params);
  return window === defaultWindow ? undefined : window;
}

/** The window in the URL. An unknown value becomes the default, because a link may contain anything. */
export function windowOf(params: URLSearchParams): string {
  return windows.find((each) => each === params.get('window')) ?? defaultWindow;
}
