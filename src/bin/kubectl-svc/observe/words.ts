/** A span's time in three digits: `850ns`, `12.3µs`, `5.4ms`, `1.23s`, `2m5s`. Pure. */
export function durationText(ns: number): string {
  if (ns >= 60e9) return `${Math.floor(ns / 60e9)}m${Math.floor((ns % 60e9) / 1e9)}s`;
  const [size, unit] = (
    [
      [1e9, 's'],
      [1e6, 'ms'],
      [1e3, 'µs'],
      [1, 'ns'],
    ] as const
  ).find(([least]) => ns >= least) ?? [...([1, 'ns'] as const)];
  return `${threeDigits(ns / size)}${unit}`;
}

/** `512B`, `1.5KiB`, `20MiB`. Pure. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${threeDigits(bytes / 1024 ** power)}${units[power]}`;
}

function threeDigits(value: number): string {
  return value >= 100 ? String(Math.floor(value)) : String(Number(value.toPrecision(3)));
}

/** A timestamp of the stream, cut to milliseconds. Pure. */
export function shortTime(time: string): string {
  return `${time.slice(0, 23)}Z`;
}
