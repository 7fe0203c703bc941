/** Native histograms over time: a column per time, a row per bucket, darker for more observations. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { colourOf, onThemeChange } from '../state/theme.ts';
import type { Heat } from './chart-data.ts';
import { short } from './format.ts';

const height = 300;
const left = 64;
const bottom = 22;

export function HeatMap({ heat, label }: { heat: Heat; label: string }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [theme, setTheme] = useState(0);
  const [at, setAt] = useState('');
  useEffect(() => onThemeChange(() => setTheme((n) => n + 1)), []);
  useEffect(() => {
    const element = canvas.current!;
    const draw = (): void => {
      const width = element.parentElement!.clientWidth;
      const ratio = devicePixelRatio || 1;
      element.width = width * ratio;
      element.height = height * ratio;
      const context = element.getContext('2d')!;
      context.scale(ratio, ratio);
      const rows = heat.bounds.length - 1;
      const [w, h] = [(width - left) / heat.times.length, (height - bottom) / rows];
      context.fillStyle = colourOf('accent');
      heat.counts.forEach((cells, i) =>
        cells.forEach((count, row) => {
          if (count <= 0) return;
          // The shade follows the square root of a count, so that small counts are visible next to large ones.
          context.globalAlpha = 0.08 + 0.92 * Math.sqrt(count / heat.most);
          context.fillRect(left + i * w, height - bottom - (row + 1) * h, Math.ceil(w), Math.ceil(h));
        }),
      );
      context.globalAlpha = 1;
      context.fillStyle = colourOf('quiet');
      context.font = '12px system-ui';
      context.textAlign = 'right';
      const every = Math.ceil(rows / 10);
      for (let row = 0; row <= rows; row += every) {
        context.fillText(short(heat.bounds[row]!), left - 6, height - bottom - row * h + 4);
      }
      context.textAlign = 'center';
      for (const share of [0.1, 0.5, 0.9]) {
        const time = heat.times[Math.floor(share * (heat.times.length - 1))]!;
        const text = new Date(time * 1000).toLocaleTimeString(undefined, { hour12: false });
        context.fillText(text, left + share * (width - left), height - 6);
      }
    };
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(element.parentElement!);
    return () => watch.disconnect();
  }, [heat, theme]);

  const point = (event: MouseEvent): void => {
    const box = canvas.current!.getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left - left) / (box.width - left)) * heat.times.length);
    const rows = heat.bounds.length - 1;
    const row = Math.floor(((height - bottom - (event.clientY - box.top)) / (height - bottom)) * rows);
    const count = heat.counts[i]?.[row];
    setAt(
      count === undefined
        ? ''
        : `${new Date(heat.times[i]! * 1000).toLocaleTimeString(undefined, { hour12: false })}: ${short(count)} between ${short(heat.bounds[row]!)} and ${short(heat.bounds[row + 1]!)}`,
    );
  };
  return (
    <figure class="chart" aria-label={label}>
      <div class="plot">
        <canvas ref={canvas} role="img" aria-label={`${label}: heat map of native histograms`} onMouseMove={point} />
      </div>
      <figcaption class="quiet">{at || 'Darker: more observations.'}</figcaption>
    </figure>
  );
}
