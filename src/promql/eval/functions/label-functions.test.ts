import { jest } from '@jest/globals';
import { RE2JS } from 're2js';
import { MemorySource } from '../../../testing/promql/memory-source.ts';
import { parseMetric } from '../../../testing/promql/series-description.ts';
import { Engine, labelValue, type QueryResult } from '../../index.ts';

const series = 100;
const source = new MemorySource();
for (let i = 0; i < series; i++) source.load(parseMetric(`x{pod="pod-${i}"}`), [{ time: 0, value: 1 }]);

let turns = 0;
const engine = new Engine({ turns: { due: () => true, next: () => Promise.resolve(void turns++) } });
const replaced = (replacement: string): Promise<QueryResult> =>
  engine.instant(`label_replace(x, "to", "${replacement}", "pod", "(y*).*")`, 0, { source });

test.each(['$1', '$5', '$_', '${name}'])(
  'the time that references such as %s take is counted, though they are empty',
  async (reference) => {
    const turnsOf = async (replacement: string): Promise<number> => {
      turns = 0;
      await replaced(replacement);
      return turns;
    };
    expect(await turnsOf(reference)).toBeLessThan(series / 10);
    expect(await turnsOf(reference.repeat(4_096))).toBeGreaterThanOrEqual(series);
  },
);

test('a replacement with more references than a label value may have characters is refused', async () => {
  await expect(replaced('$1'.repeat(4_097))).rejects.toMatchObject({
    errorType: 'execution',
    message: 'replacement with 4097 references ($), at most 4096',
  });
  const { value } = await replaced('$$'.repeat(4_096));
  if (value.type !== 'vector') throw new Error(value.type);
  expect(value.elements.map(({ labels }) => labelValue(labels, 'to'))).toEqual(
    Array.from({ length: series }, () => '$'.repeat(4_096)),
  );
});

test.each([
  ['pod-1|pod-2', '<$0|$1>', ['<pod-1|>', '<pod-2|>']],
  ['(pod-1|pod-2)', '<$0|$1|$2|$$>', ['<pod-1|pod-1||$>', '<pod-2|pod-2||$>']],
  ['(?:pod-1|pod-2)', '<$1>', ['<>', '<>']],
  ['pod-1', '<$0>${name}', ['<pod-1>']],
  ['pod-1.*', '<$0|$1>', [...'0123456789', ''].map((n) => `<pod-1${n}|>`)],
  ['pod-9.+', '<$0>', [...'0123456789'].map((n) => `<pod-9${n}>`)],
])(
  'texts, their alternatives and prefixes are replaced without the regex engine: %s',
  async (pattern, text, expected) => {
    const compile = jest.spyOn(RE2JS, 'compile');
    const query = `label_replace(x, "to", "${text}", "pod", "${pattern}")`;
    const { value } = await engine.instant(query, 0, { source });
    if (value.type !== 'vector') throw new Error(value.type);
    const found = value.elements.map(({ labels }) => labelValue(labels, 'to')).filter((to) => to !== '');
    expect(found.sort()).toEqual(expected);
    expect(compile.mock.calls.length).toBe(0);
    compile.mockRestore();
  },
);
