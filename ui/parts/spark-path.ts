/**
 * Paths of a sparkline and of the area below it, from 0 to the largest point. A missing point is a gap, and a point
 * between two gaps is a dot. Pure.
 */
export function sparkPath(
  points: readonly (number | null)[],
  width: number,
  height: number,
): { readonly line: string; readonly area: string } {
  const known = points.filter((point): point is number => point !== null && Number.isFinite(point));
  if (known.length === 0) return { line: '', area: '' };
  const most = Math.max(...known, 0) || 1;
  const x = (i: number): string => ((i / Math.max(1, points.length - 1)) * width).toFixed(1);
  const y = (value: number): string => (height - 2 - (Math.max(0, value) / most) * (height - 4)).toFixed(1);
  let line = '';
  let area = '';
  let from: number | undefined;
  const close = (to: number): void => {
    if (from === to) line += 'h0';
    if (from !== undefined) area += `L${x(to)} ${height}L${x(from)} ${height}Z`;
    from = undefined;
  };
  points.forEach((point, i) => {
    if (point === null || !Number.isFinite(point)) return close(i - 1);
    const step = `${from === undefined ? 'M' : 'L'}${x(i)} ${y(point)}`;
    from ??= i;
    line += step;
    area += step;
  });
  close(points.length - 1);
  return { line, area };
}
