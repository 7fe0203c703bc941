/**
 * A float as Go's %g prints it, with as few digits as identify it, or with `precision` significant digits. The text has
 * an exponent if the value is below 1e-4, or from 1e6 on (from 10^precision on if a precision is given).
 */
export function formatFloatG(value: number, precision?: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const scientific = precision === undefined ? value.toExponential() : value.toExponential(precision - 1);
  const [mantissa, exponentText] = scientific.split('e') as [string, string];
  const exponent = Number(exponentText);
  const digits = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
  if (exponent >= -4 && exponent < (precision ?? 6)) return String(Number(scientific));
  const size = Math.abs(exponent);
  return `${digits}e${exponent < 0 ? '-' : '+'}${size < 10 ? '0' : ''}${size}`;
}

/** A float as OpenMetrics writes it in labels: always with a point or an exponent. */
export function formatOpenMetricsFloat(value: number): string {
  const text = formatFloatG(value);
  return Number.isFinite(value) && !/[.e]/.test(text) ? `${text}.0` : text;
}
