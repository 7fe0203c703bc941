import { parseQualityList, type Weighted } from '../../net/http/index.ts';

/** The two text formats of the metrics page. */
export type ExpositionFormat = 'text' | 'openmetrics';
export type ExpositionEncoding = 'identity' | 'gzip' | 'zstd';

/**
 * The Content-Type of each format. Metric and label names hold only characters that every parser knows, so no escaping
 * scheme is needed.
 */
export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/**
 * The format that an Accept header prefers (RFC 9110 §12.5.1); plain text, as from other exporters, when it accepts
 * neither of ours. Of equal weights the first wins. An unknown version is skipped.
 */
export function chooseFormat(accept: string | undefined): ExpositionFormat {
  let best: { format: ExpositionFormat; weight: number } = { format: 'text', weight: 0 };
  for (const range of parseQualityList(accept ?? '')) {
    const format = formatOf(range);
    if (format && range.weight > best.weight) best = { format, weight: range.weight };
  }
  return best.format;
}

function formatOf({ value, parameters }: Weighted): ExpositionFormat | null {
  const version = parameters.get('version');
  switch (value) {
    case 'application/openmetrics-text':
      return version === undefined || version === '1.0.0' || version === '0.0.1' ? 'openmetrics' : null;
    case 'text/plain':
      // 1.0.0 is 0.0.4 with quoted names allowed; our names need no quotes.
      return version === undefined || version === '0.0.4' || version === '1.0.0' ? 'text' : null;
    case 'text/*':
    case '*/*':
      return 'text';
    default:
      return null;
  }
}

/** The encoding that an Accept-Encoding header prefers; of equal weights gzip, which costs the least here. */
export function chooseEncoding(acceptEncoding: string | undefined): ExpositionEncoding {
  const weights = new Map(parseQualityList(acceptEncoding ?? '').map(({ value, weight }) => [value, weight]));
  const rest = weights.get('*') ?? 0;
  const gzip = weights.get('gzip') ?? weights.get('x-gzip') ?? rest;
  const zstd = weights.get('zstd') ?? 0;
  const identity = weights.get('identity') ?? 0;
  if (gzip > 0 && gzip >= zstd && gzip >= identity) return 'gzip';
  return zstd > 0 && zstd >= identity ? 'zstd' : 'identity';
}
