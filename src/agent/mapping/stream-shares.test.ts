import { StreamShares } from './stream-shares.ts';

const bounds = { node: 10, namespace: 8, own: 3 };

function filled(...namespaces: readonly string[]): StreamShares {
  const shares = new StreamShares();
  for (const namespace of namespaces) shares.add(namespace);
  return shares;
}
const times = (n: number, namespace: string): string[] => Array.from({ length: n }, () => namespace);

test('a namespace at its limit gets no more streams; other namespaces do', () => {
  const shares = filled(...times(8, 'noisy'));
  expect([shares.exceeded('noisy', bounds), shares.exceeded('quiet', bounds)]).toEqual(['namespace', null]);
});

test('on a full node a namespace with few streams still gets more, up to its own share', () => {
  const shares = filled(...times(5, 'a'), ...times(5, 'b'), ...times(2, 'quiet'));
  expect([shares.exceeded('a', bounds), shares.exceeded('quiet', bounds)]).toEqual(['node', null]);
  shares.add('quiet');
  expect(shares.exceeded('quiet', bounds)).toBe('node');
});

test('unknown senders are counted together and have no share of their own', () => {
  expect(filled(...times(8, '')).exceeded('', bounds)).toBe('namespace');
  expect(filled(...times(5, 'a'), ...times(5, 'b')).exceeded('', bounds)).toBe('node');
});

test('a removed stream leaves room for another', () => {
  const shares = filled(...times(8, 'noisy'));
  shares.remove('noisy');
  expect(shares.exceeded('noisy', bounds)).toBeNull();
});
