import { defaultPanel, maxPanels, panelsOf, paramsOf, type Panel } from './panels.ts';

const panel = (changes: Partial<Panel>): Panel => ({ ...defaultPanel, expr: 'up', ...changes });

test.each<[string, Panel]>([
  ['a plain query', panel({})],
  ['a custom range and an end', panel({ range: 5_400, end: 1_795_240_800 })],
  ['axes and exemplars', panel({ stacked: true, log: true, exemplars: true })],
])('a URL restores %s', (_what, one) => {
  const other = panel({ expr: 'sum(up)', range: 60 });
  expect(panelsOf(paramsOf([one, other]))).toEqual([one, other]);
});

test('a link as Prometheus writes it is understood, and the default replaces an invalid value in it', () => {
  const link = new URLSearchParams(
    'g0.expr=up&g0.range_input=1h&g0.tab=0&g1.expr=&g2.expr=b&g2.range_input=x&g2.end_input=y',
  );
  expect(panelsOf(link)).toEqual([panel({ range: 3_600 }), panel({ expr: 'b' })]);
});

test.each(['+275760-09-13T00:00:00Z', '-271821-04-20T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])(
  'the end %s, which the field for it cannot show in every time zone, counts as none',
  (end) => {
    const link = new URLSearchParams({ 'g0.expr': 'up', 'g0.end_input': end });
    expect(panelsOf(link)).toEqual([panel({})]);
  },
);

test('a link shows no more queries than there may be panels', () => {
  const link = new URLSearchParams(Array.from({ length: 30 }, (_, i): [string, string] => [`g${i}.expr`, 'up']));
  expect(panelsOf(link)).toHaveLength(maxPanels);
});
