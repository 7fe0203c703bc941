import { printable, width } from '../output/table.ts';
import type { Styles } from '../output/style.ts';
import { Canvas, dotsAcross, dotsDown } from './canvas.ts';
import { scaleOf, shortNumber } from './scale.ts';

export interface GraphSeries {
  readonly label: string;
  /** Milliseconds and value, in order of time. */
  readonly points: readonly (readonly [number, number])[];
}

export interface GraphOptions {
  /** Size of the whole drawing, in characters. */
  readonly columns: number;
  readonly rows: number;
  /** Ends of the time axis. Units: ms. */
  readonly start: number;
  readonly end: number;
  /** Points further apart than one and a half times this are not joined. Units: ms. */
  readonly stepMs: number;
  readonly style: Styles;
}

/** Without colours, each of several lines is drawn with its own character. */
const marks = ['•', '×', '+', 'o', '*', '#', '%', '@'];
/** The limit of distinguishable lines; further lines are not drawn. */
export const maxSeries = marks.length;

/**
 * Lines over time with labelled axes and, below, a legend with the last value of each. Coloured when the terminal
 * supports it. Ends with a newline. Pure.
 */
export function graphText(series: readonly GraphSeries[], options: GraphOptions): string {
  const { style } = options;
  const shown = series.slice(0, maxSeries);
  const rows = Math.max(4, options.rows - shown.length - 3);
  const scale = scaleOf(
    shown.flatMap(({ points }) => points.map(([, value]) => value)),
    Math.max(2, Math.round(rows / 4) + 1),
  );
  const labels = scale.ticks.map((tick) => shortNumber(tick));
  const margin = Math.max(...labels.map(width));
  const canvas = new Canvas(Math.max(10, options.columns - margin - 2), rows);
  shown.forEach(({ points }, owner) => draw(canvas, points, owner, scale, options));
  const rowOf = (value: number): number => Math.round(((scale.max - value) / (scale.max - scale.min)) * (rows - 1));
  const labelAt = new Map(scale.ticks.map((tick, i) => [rowOf(tick), labels[i]!]));
  const paint = (text: string, owner: number): string => {
    if (style.enabled) return style.series(owner, text);
    return shown.length > 1 ? marks[owner]!.repeat(text.length) : text;
  };
  const lines = Array.from({ length: rows }, (_, n) => {
    const label = labelAt.get(n);
    const axis = label === undefined ? `${' '.repeat(margin)} │` : `${label.padStart(margin)} ┤`;
    return `${axis}${canvas.row(n, paint)}`.trimEnd();
  });
  return [...lines, ...timeAxis(canvas.columns, margin, options), ...legend(series, shown, options), ''].join('\n');
}

function draw(
  canvas: Canvas,
  points: GraphSeries['points'],
  owner: number,
  { min, max }: { min: number; max: number },
  { start, end, stepMs }: GraphOptions,
): void {
  const across = canvas.columns * dotsAcross - 1;
  const down = canvas.rows * dotsDown - 1;
  const x = (ms: number): number => Math.round(((ms - start) / Math.max(1, end - start)) * across);
  const y = (value: number): number => Math.round(((max - value) / (max - min)) * down);
  let last: readonly [number, number] | undefined;
  for (const point of points) {
    const [ms, value] = point;
    if (!Number.isFinite(value)) {
      last = undefined;
      continue;
    }
    if (last && ms - last[0] <= stepMs * 1.5) canvas.line(x(last[0]), y(last[1]), x(ms), y(value), owner);
    else canvas.dot(x(ms), y(value), owner);
    last = point;
  }
}

/** The time axis with two to six labels, as many as there is room for. */
function timeAxis(columns: number, margin: number, { start, end }: GraphOptions): string[] {
  const text = (ms: number): string => axisTime(ms, end - start);
  const room = width(text(start)) + 4;
  const count = Math.max(2, Math.min(6, Math.floor(columns / room) + 1));
  const line = new Array<string>(columns).fill('─');
  const times = new Array<string>(columns + margin + 2).fill(' ');
  for (let i = 0; i < count; i++) {
    const at = Math.round((i * (columns - 1)) / (count - 1));
    line[at] = '┴';
    const label = text(start + ((end - start) * i) / (count - 1));
    const from = Math.min(Math.max(0, margin + 2 + at - Math.floor(label.length / 2)), times.length - label.length);
    [...label].forEach((c, k) => (times[from + k] = c));
  }
  return [`${' '.repeat(margin)} └${line.join('')}`, times.join('').trimEnd()];
}

/** Local time, with a precision that fits the span. */
function axisTime(ms: number, span: number): string {
  const date = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, '0');
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (span < 600_000) return `${clock}:${two(date.getSeconds())}`;
  if (span <= 86_400_000) return clock;
  return `${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock}`;
}

function legend(series: readonly GraphSeries[], shown: readonly GraphSeries[], options: GraphOptions): string[] {
  const { style, columns } = options;
  const lines = shown.map(({ label, points }, i) => {
    const last = shortNumber(points.at(-1)?.[1] ?? NaN, 4);
    const mark = style.enabled ? style.series(i, '━━') : shown.length > 1 ? marks[i]! : '⠶';
    const name = clipped(printable(label), columns - last.length - 6);
    return `${mark} ${name}  ${style.bold(last)}`;
  });
  const more = series.length - shown.length;
  return more > 0 ? [...lines, style.dim(`and ${more} more series that are not drawn`)] : lines;
}

function clipped(text: string, columns: number): string {
  return width(text) <= columns ? text : `${[...text].slice(0, Math.max(1, columns - 1)).join('')}…`;
}
