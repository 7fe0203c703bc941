import uPlot from 'uplot';
import type { Sample } from './api.ts';

const colours = [
  '#3366cc',
  '#dc3912',
  '#ff9900',
  '#109618',
  '#990099',
  '#0099c6',
  '#dd4477',
  '#66aa00',
  '#b82e2e',
  '#316395',
];
/** Most lines of the graph: more cannot be told apart. */
export const maxLines = 50;

let plot: uPlot | undefined;

/** Draws a matrix as lines over one shared time axis; a missing point is a gap, never a line across it. */
export function drawGraph(
  target: HTMLElement,
  series: Sample[],
  name: (metric: Record<string, string>) => string,
): void {
  plot?.destroy();
  plot = undefined;
  const shown = series.slice(0, maxLines);
  if (shown.length === 0) return;
  const times = [...new Set(shown.flatMap((s) => (s.values ?? []).map(([t]) => t)))].sort((a, b) => a - b);
  const index = new Map(times.map((t, i) => [t, i]));
  const columns = shown.map((s) => {
    const column = new Array<number | null>(times.length).fill(null);
    for (const [t, v] of s.values ?? []) {
      const number = Number(v);
      column[index.get(t)!] = Number.isFinite(number) ? number : null;
    }
    return column;
  });
  plot = new uPlot(
    {
      width: target.clientWidth || 900,
      height: 320,
      series: [
        {},
        ...shown.map((s, i) => ({
          label: name(s.metric).slice(0, 120),
          stroke: colours[i % colours.length]!,
          width: 1.5,
        })),
      ],
      axes: [{ stroke: 'gray' }, { stroke: 'gray', size: 70 }],
      legend: { show: shown.length <= 12 },
    },
    [times, ...columns],
    target,
  );
}
