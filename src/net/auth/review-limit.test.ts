import { FakeClock } from '../../testing/fake-clock.ts';
import { ReviewLimit } from './review-limit.ts';

/** How many of 1,000 new tokens are reviewed at once, of which each comes from another address. */
function reviewed(limit: ReviewLimit, address: (n: number) => string): number {
  return Array.from({ length: 1_000 }, (_, n) => limit.take(address(n), `${address(n)} ${n}`)).filter((w) => w === null)
    .length;
}

test('a peer with many addresses of IPv6 leaves half of the reviews to others', () => {
  const limit = new ReviewLimit(new FakeClock());
  expect(reviewed(limit, (n) => `2001:db8::${n.toString(16)}`)).toBe(600);
  expect(reviewed(limit, (n) => `10.0.${n >> 8}.${n & 255}`)).toBe(600);
});

test('one address has a tenth of the reviews', () => {
  expect(reviewed(new ReviewLimit(new FakeClock()), () => '10.0.0.1')).toBe(120);
});
