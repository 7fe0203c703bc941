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

test('a link shows no more queries than there may be panels', () => {
  const link = new URLSearchParams(Array.from({ length: 30 }, (_, i): [string, string] => [`g${i}.expr`, 'up']));
  expect(panelsOf(link)).toHaveLength(maxPanels);
});
