/**
 * Time as metav1.MicroTime writes it, with six digits: `2026-01-02T03:04:05.006000Z`. The API server refuses the three
 * digits of `Date.toISOString()` in Leases and Events.
 * Units: ms since the epoch.
 */
export function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}
