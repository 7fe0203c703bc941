/**
 * Whether the counter was reset between two samples, by their start times (0 = unknown). A start time equal to the
 * previous sample's time is a reset only when the previous start time is known and valid.
 */
export function isStartTimeReset(previousBegan: number, previousTime: number, began: number, time: number): boolean {
  if (previousBegan === began || began === 0 || began >= time) return false;
  if (began !== previousTime) return began > previousTime;
  return previousBegan <= previousTime && previousBegan !== 0 && previousBegan !== previousTime;
}

/** Whether a sample's start time lies before the previous sample, although the start time is new. */
export function overlapsStartTime(previousBegan: number, previousTime: number, began: number): boolean {
  return began !== 0 && began < previousTime && began !== previousBegan;
}
