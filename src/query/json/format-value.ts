/** A sample value as vectors and matrices carry it: JavaScript's text with a two-digit exponent, `-0` and `±Inf`. */
export function formatSample(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const text = String(value);
  return text.at(-3) === 'e' ? `${text.slice(0, -1)}0${text.at(-1)}` : text;
}

/** A scalar's value: as `formatSample`, but never with an exponent. */
export function formatScalar(value: number): string {
  const text = formatSample(value);
  const parts = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (!parts) return text;
  const [, sign, first, fraction = '', exponent] = parts;
  const digits = first + fraction;
  const point = 1 + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return `${sign}${digits.padEnd(point, '0')}`;
}
