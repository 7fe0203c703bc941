import { chooseEncoding, chooseFormat } from './negotiate.ts';

test.each([
  ['text without a header', undefined, 'text'],
  ['text for a browser or curl', 'text/html,application/xhtml+xml,*/*;q=0.8', 'text'],
  ['OpenMetrics if only that is named', 'application/openmetrics-text', 'openmetrics'],
  [
    'OpenMetrics for a stock Prometheus 3',
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
    'openmetrics',
  ],
  ['text where its weight is higher', 'application/openmetrics-text;version=1.0.0;q=0.2, text/plain;q=0.9', 'text'],
  ['the first of equal weights', 'text/plain, application/openmetrics-text', 'text'],
  ['text where OpenMetrics is refused', 'application/openmetrics-text;q=0, */*', 'text'],
  ['text where only an unknown version is wanted', 'application/openmetrics-text;version=9.0.0', 'text'],
  ['text where only something else is wanted', 'application/json', 'text'],
  ['OpenMetrics for a quoted version', 'application/openmetrics-text; version="1.0.0"', 'openmetrics'],
])('the format is %s', (_, accept, format) => {
  expect(chooseFormat(accept)).toBe(format);
});

test.each([
  ['none without a header', undefined, 'identity'],
  ['gzip for Prometheus', 'gzip', 'gzip'],
  ['zstd if only that is named', 'zstd', 'zstd'],
  ['gzip of two with equal weights', 'zstd, gzip', 'gzip'],
  ['zstd where it weighs more', 'gzip;q=0.5, zstd', 'zstd'],
  ['none where gzip is refused', 'gzip;q=0', 'identity'],
  ['gzip for anything', '*', 'gzip'],
  ['none where identity weighs more', 'identity, gzip;q=0.5', 'identity'],
  ['none for an unknown encoding', 'br', 'identity'],
])('the encoding is %s', (_, header, encoding) => {
  expect(chooseEncoding(header)).toBe(encoding);
});
