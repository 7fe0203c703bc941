/** The time that a view is about, up to now, as an address has it. Pure. */

export const windows = ['5m', '15m', '1h', '6h'] as const;
export const defaultWindow = '5m';

/** The window of an address; one that is not offered becomes the default, since a link may say anything. */
export function windowOf(params: URLSearchParams): string {
  return windows.find((each) => each === params.get('window')) ?? defaultWindow;
}
