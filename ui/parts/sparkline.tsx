/** A line without axes: a number over the time window of the view. */
import type { JSX } from 'preact';
import { sparkPath } from './spark-path.ts';

const width = 120;
const height = 28;

export function Sparkline({
  points,
  label,
  kind,
}: {
  points: readonly (number | null)[];
  label: string;
  kind?: 'rate' | 'errors';
}): JSX.Element {
  const { line, area } = sparkPath(points, width, height);
  if (line === '') return <span class="quiet">no data</span>;
  return (
    <svg class={`spark ${kind ?? 'rate'}`} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <path class="area" d={area} />
      <path class="line" d={line} />
    </svg>
  );
}
