import { fixtureObjects, small } from '../../e2e/page/fixture.ts';
import { troublesOf } from './node-troubles.ts';

test('the problems of a node are listed, and a healthy node has none', () => {
  const now = 1_795_240_800_000;
  const [limited, , behind] = fixtureObjects('Node', small, now).items.map(({ node }) => troublesOf(node!, now));
  expect(limited).toEqual([
    '12 series went beyond a limit',
    'the clock is off by -1400 ms',
    'the certificate ends soon',
  ]);
  expect(behind).toEqual([
    'the configuration is not running yet',
    'does not run monitor shop/catalog: KernelUnsupported: the kernel has no kprobes',
  ]);
  const healthy = fixtureObjects('Node', { ...small, nodes: 5 }, now).items[4]!.node!;
  expect(troublesOf(healthy, now)).toEqual([]);
  expect(troublesOf({ ...healthy, certificateEndMs: now - 1 }, now)).toEqual(['the certificate has ended']);
});
