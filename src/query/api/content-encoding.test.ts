import { acceptedEncoding } from './content-encoding.ts';

test.each([
  ['none without a header', undefined, undefined],
  ['gzip where it is accepted', 'deflate, GZIP ; q=0.5', 'gzip'],
  ['zstd of two with equal weights', 'gzip, zstd', 'zstd'],
  ['gzip where it weighs more', 'gzip, zstd;q=0.9', 'gzip'],
  ['none where gzip is refused', 'gzip;q=0', undefined],
  ['none for a weight that is not one', 'gzip;q=high', undefined],
  ['none for an unknown encoding', 'br', undefined],
])('the encoding of an answer is %s', (_, header, encoding) => {
  expect(acceptedEncoding(header)).toBe(encoding);
});

test.each(['gzip#x', 'gzip;#x', 'gzip;q#=1', 'gzip;q=#1x', '#,gzip'])(
  'a header like %p with very many blanks is read in a moment',
  (header) => {
    const before = process.threadCpuUsage();
    acceptedEncoding(header.replace('#', ' '.repeat(48 * 1024)));
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(0.5);
  },
);
