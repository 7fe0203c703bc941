/** Numbers and times as text for people. Pure; an unknown value is a dash. */

const dash = '–';

/** Three significant digits with a metric prefix: 0.0123, 1.23, 12.3, 1.23k, 4.56M. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return dash;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  const sign = value < 0 ? '−' : '';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 0.001) return sign + size.toExponential(1).replace('e-', 'e−');
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  let step = Math.max(0, Math.min(prefixes.length - 1, Math.floor(Math.log10(size) / 3)));
  // 999.96 rounds to 1000, which is 1.00 with the next prefix.
  if (Number((size / 1000 ** step).toPrecision(3)) >= 1000 && step < prefixes.length - 1) step++;
  return sign + trimmed(size / 1000 ** step) + prefixes[step]!;
}

function trimmed(value: number): string {
  const text = value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toPrecision(3);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** A rate per second. */
export const perSecond = (value: number | null | undefined): string =>
  value === null || value === undefined ? dash : `${short(value)}/s`;

/** A share from 0 to 1 in per cent; a share above 0 is never shown as 0. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return dash;
  if (share === 0) return '0 %';
  const value = share * 100;
  if (value < 0.1) return '<0.1 %';
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(1)} %`;
}

/** Milliseconds as µs, ms, s or min. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return dash;
  if (ms === 0) return '0 ms';
  if (ms < 0.9995) return `${trimmed(ms * 1000)} µs`;
  if (ms < 999.5) return `${trimmed(ms)} ms`;
  if (ms < 120_000) return `${trimmed(ms / 1000)} s`;
  return `${trimmed(ms / 60_000)} min`;
}

/** Bytes with binary prefixes. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return dash;
  const prefixes = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = value;
  let step = 0;
  while (Math.abs(size) >= 1023.5 && step < prefixes.length - 1) {
    size /= 1024;
    step++;
  }
  return `${step === 0 ? Math.round(size) : trimmed(size)} ${prefixes[step]!}`;
}

export const bytesPerSecond = (value: number | null | undefined): string =>
  value === null || value === undefined ? dash : `${bytes(value)}/s`;

/** The length of a duration in its largest unit, without its sign. Units: ms. */
export function span(ms: number): string {
  const size = Math.abs(ms);
  const units: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ];
  const [unit, name] = units.find(([each]) => size >= each) ?? [1_000, 's'];
  return `${Math.floor(size / unit)} ${name}`;
}

/** The time left until an end, or how long ago the end was. Units: ms. */
export function timeLeft(ms: number): string {
  return ms > 0 ? span(ms) : `ended ${span(ms)} ago`;
}

/** A moment as its time of day, with the date if it is not of today. Units: ms since the epoch. */
export function momentText(at: number, now: number): string {
  const [moment, today] = [new Date(at), new Date(now)];
  const time = moment.toLocaleTimeString(undefined, { hour12: false });
  return moment.toDateString() === today.toDateString() ? time : `${moment.toLocaleDateString()}, ${time}`;
}

/** A series in PromQL notation. */
export function seriesName(metric: Readonly<Record<string, string>>): string {
  const { __name__: name = '', ...labels } = metric;
  const list = Object.entries(labels).map(([k, v]) => `${k}=${JSON.stringify(v)}`);
  return `${name}{${list.join(', ')}}`;
}
