/** Lines over time: uPlot in the colours of the page, with a legend of names and values. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { colourOf, onThemeChange } from '../state/theme.ts';
import { isolated, positive, stacked as stack, type Columns } from './chart-data.ts';
import { short } from './format.ts';

/** Colours of lines in the style sheet: `--c0` to `--c9`. */
const colours = 10;
/** The largest number of lines in the legend before it is expanded. */
const maxNamed = 12;

/** A point that is drawn in addition to the lines, such as an exemplar. */
export interface Mark {
  /** Unit: s since the epoch. */
  readonly time: number;
  readonly value: number;
  readonly text: string;
}

/** One list for all charts without marks: with a new list, a chart would redraw its plot at each rendering. */
const noMarks: readonly Mark[] = [];

export interface ChartProps {
  readonly data: Columns;
  readonly names: readonly string[];
  readonly label: string;
  readonly height?: number;
  readonly stacked?: boolean;
  readonly log?: boolean;
  readonly format?: (value: number | null) => string;
  readonly marks?: readonly Mark[];
  /** Called with a time range that was selected by dragging. Units: s since the epoch. */
  readonly onZoom?: (start: number, end: number) => void;
}

export function Chart(props: ChartProps): JSX.Element {
  const { data, names, label, height = 320, stacked = false, log = false, format = short } = props;
  const { marks = noMarks, onZoom } = props;
  const target = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const [theme, setTheme] = useState(0);
  const [all, setAll] = useState(false);
  const plot = useRef<uPlot>(undefined);
  // The plot outlives renderings: it uses the properties of the newest rendering.
  const newest = useRef({ data, onZoom, marks, format });
  newest.current = { data, onZoom, marks, format };
  const drawn = useMemo(() => {
    const lines = stacked ? stack(data.columns) : data.columns;
    return [data.times, ...(log ? positive(lines) : lines)] as unknown as uPlot.AlignedData;
  }, [data, stacked, log]);
  useEffect(() => onThemeChange(() => setTheme((n) => n + 1)), []);

  useEffect(() => {
    const element = target.current!;
    const strokes = Array.from({ length: colours }, (_, i) => colourOf(`c${i}`));
    const axis = colourOf('quiet');
    const grid = { stroke: colourOf('line'), width: 1 };
    const made = new uPlot(
      {
        width: element.clientWidth || 600,
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: onZoom !== undefined, y: false, setScale: false } },
        scales: {
          x: { range: () => [newest.current.data.start, newest.current.data.end] },
          y: log ? { distr: 3 } : { range: (_u, low, high) => bounds(low, high) },
        },
        series: [
          {},
          ...data.columns.map((_, i) => ({
            stroke: strokes[i % colours]!,
            width: 1.75,
            ...(stacked ? { fill: `color-mix(in srgb, ${strokes[i % colours]!} 18%, transparent)` } : {}),
            points: { show: false, filter: (u: uPlot, of: number) => isolated(u.data[of]!) },
          })),
        ],
        axes: [
          {
            stroke: axis,
            grid,
            ticks: grid,
            space: 70,
            values: (_u, times, _i, _s, step) => times.map((t) => timeLabel(t, step)),
          },
          {
            stroke: axis,
            grid,
            ticks: grid,
            size: 64,
            values: (_u, values) => values.map((v) => (v === null ? '' : newest.current.format(v))),
          },
        ],
        hooks: {
          setCursor: [(u) => setAt(u.cursor.idx ?? null)],
          setSelect: [
            (u) => {
              const { onZoom: zoom } = newest.current;
              if (zoom === undefined || u.select.width < 5) return;
              zoom(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
          draw: [(u) => drawMarks(u, newest.current.marks)],
        },
      },
      drawn,
      element,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [data.columns.length, stacked, log, theme, height]);
  // New data go into the existing plot, which keeps a selection that is being dragged.
  useEffect(() => {
    if (plot.current?.data !== drawn) plot.current?.setData(drawn);
    else plot.current.redraw();
  }, [drawn, marks]);

  const last = data.times.length - 1;
  const shown = all ? names : names.slice(0, maxNamed);
  return (
    <figure class="chart" aria-label={label}>
      <div class="plot" ref={target} role="img" aria-label={`${label}: ${names.length} lines`} />
      <ul class="legend">
        {shown.map((name, i) => (
          <li key={name}>
            <span class={`swatch c${i % colours}`} aria-hidden="true" />
            <span class="name" title={name}>
              {name}
            </span>
            <span class="num">{format(data.columns[i]?.[at ?? last] ?? null)}</span>
          </li>
        ))}
      </ul>
      {names.length > maxNamed ? (
        <button type="button" class="plain" onClick={() => setAll(!all)}>
          {all ? 'fewer names' : `all ${names.length} names`}
        </button>
      ) : null}
    </figure>
  );
}

/** A time on the axis, as precise as the distance between two ticks requires. Units: s. */
function timeLabel(time: number, step: number): string {
  const date = new Date(time * 1000);
  if (step >= 86_400) return date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
  const seconds = step < 60 ? ({ second: '2-digit' } as const) : {};
  return date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', ...seconds, hour12: false });
}

/** The axis starts at 0 if all values are positive, so that heights can be compared. */
function bounds(low: number | null, high: number | null): [number, number] {
  const [from, to] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)];
  return from === to ? [0, 1] : [from, to + (to - from) * 0.05];
}

function drawMarks(u: uPlot, marks: readonly Mark[]): void {
  const { ctx } = u;
  ctx.save();
  ctx.fillStyle = colourOf('c3');
  for (const { time, value } of marks) {
    const [x, y] = [u.valToPos(time, 'x', true), u.valToPos(value, 'y', true)];
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width || y < u.bbox.top) continue;
    ctx.beginPath();
    // A diamond, which cannot be taken for a point of a line.
    ctx.moveTo(x, y - 5);
    ctx.lineTo(x + 5, y);
    ctx.lineTo(x, y + 5);
    ctx.lineTo(x - 5, y);
    ctx.fill();
  }
  ctx.restore();
}
