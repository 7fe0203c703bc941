import type { Attribute } from '../otlp/model.ts';
import { StreamShares, streamWeight } from './stream-shares.ts';

const bounds = { node: 10, namespace: 8, own: 3 };

function filled(...namespaces: readonly string[]): StreamShares {
  const shares = new StreamShares();
  for (const namespace of namespaces) shares.add(namespace, 1);
  return shares;
}
const times = (n: number, namespace: string): string[] => Array.from({ length: n }, () => namespace);

test('a namespace at its limit gets no more streams; other namespaces do', () => {
  const shares = filled(...times(8, 'noisy'));
  expect([shares.exceeded('noisy', 1, bounds), shares.exceeded('quiet', 1, bounds)]).toEqual(['namespace', null]);
});

test('on a full node a namespace with few streams still gets more, up to its own share', () => {
  const shares = filled(...times(5, 'a'), ...times(5, 'b'), ...times(2, 'quiet'));
  expect([shares.exceeded('a', 1, bounds), shares.exceeded('quiet', 1, bounds)]).toEqual(['node', null]);
  shares.add('quiet', 1);
  expect(shares.exceeded('quiet', 1, bounds)).toBe('node');
});

test('unknown senders are counted together and have no share of their own', () => {
  expect(filled(...times(8, '')).exceeded('', 1, bounds)).toBe('namespace');
  expect(filled(...times(5, 'a'), ...times(5, 'b')).exceeded('', 1, bounds)).toBe('node');
});

test('a removed stream leaves room for another', () => {
  const shares = filled(...times(8, 'noisy'));
  shares.remove('noisy', 1);
  expect(shares.exceeded('noisy', 1, bounds)).toBeNull();
});

test('a stream with long attributes counts for several: for all that it keeps in memory', () => {
  const list = (length: number): Attribute[] => [{ key: 'x', value: ['a'.repeat(length)] }];
  expect([streamWeight(list(4_000), list(4_000)), streamWeight(list(100_000), [])]).toEqual([1, 83]);
  const shares = new StreamShares();
  shares.add('a', 6);
  expect([2, 3].map((weight) => shares.exceeded('a', weight, bounds))).toEqual([null, 'namespace']);
  expect([4, 5].map((weight) => shares.exceeded('', weight, bounds))).toEqual([null, 'node']);
  expect(shares.exceeded('quiet', 3, { ...bounds, node: 6 })).toBeNull();
});
