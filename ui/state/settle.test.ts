import { settle } from './settle.ts';

async function told(asked: Promise<string>, abort: boolean): Promise<string[]> {
  const heard: string[] = [];
  const ended = new AbortController();
  const done = settle(asked, ended.signal, {
    answered: (answer) => heard.push(answer),
    failed: (error) => heard.push(String(error)),
  });
  if (abort) ended.abort();
  await done;
  return heard;
}

test('an answer and a failure are reported', async () => {
  expect(await told(Promise.resolve('yes'), false)).toEqual(['yes']);
  expect(await told(Promise.reject(new Error('no')), false)).toEqual(['Error: no']);
});

test('after an abort nothing is reported, even if the answer was already on its way', async () => {
  expect(await told(Promise.resolve('late'), true)).toEqual([]);
  expect(await told(Promise.reject(new Error('late')), true)).toEqual([]);
});
