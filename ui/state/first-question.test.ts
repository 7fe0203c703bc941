import { firstQuestion } from './first-question.ts';
import { placeOf } from './place.ts';

test.each([
  ['', 'api/v1/services?window=5m'],
  ['services?window=1h&filter=shop', 'api/v1/services?window=1h'],
  ['services?window=1%27y', 'api/v1/services?window=5m'],
  ['map?window=6h', 'api/v1/topology?by=workload&window=6h'],
  ['graph?g0.expr=up', undefined],
  ['?g0.expr=up', undefined],
  ['service?ns=shop&name=cart', undefined],
])('/%s: the first request is %s', (address, question) => {
  expect(firstQuestion(placeOf(new URL(`https://page.example/${address}`)))).toBe(question);
});
