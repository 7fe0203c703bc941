import { lookOf } from './condition-look.ts';

test('a condition that is not good looks like a fault (✕), unless its status is Unknown (?)', () => {
  expect(lookOf({ good: true, status: 'True' })).toEqual({ sign: '✓', kind: 'good' });
  expect(lookOf({ good: true, status: 'False' })).toEqual({ sign: '✓', kind: 'good' });
  expect(lookOf({ good: false, status: 'False' })).toEqual({ sign: '✕', kind: 'bad' });
  expect(lookOf({ good: false, status: 'True' })).toEqual({ sign: '✕', kind: 'bad' });
  expect(lookOf({ good: false, status: 'Unknown' })).toEqual({ sign: '?', kind: 'unknown' });
});
