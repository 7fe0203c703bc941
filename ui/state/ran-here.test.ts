import { addToHistory, markRan, queryHistory, ranHere } from './ran-here.ts';

const whole = (): Pick<Storage, 'getItem' | 'setItem'> => {
  const kept = new Map<string, string>();
  return { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => void kept.set(key, text) };
};
const use = (storage: object): void =>
  void Object.assign(globalThis, { sessionStorage: storage, localStorage: storage });

test('a query that was run in this tab is known, and the history has the newest query first', () => {
  use(whole());
  markRan(' up ');
  addToHistory('up');
  addToHistory('sum(up)');
  expect([ranHere('up'), ranHere('sum(up)'), queryHistory()]).toEqual([true, false, ['sum(up)', 'up']]);
});

test('if the browser refuses storage, a query can be run but is not remembered', () => {
  const refuse = (): never => {
    throw new DOMException('refused', 'SecurityError');
  };
  use({ getItem: refuse, setItem: refuse });
  markRan('up');
  addToHistory('up');
  expect([ranHere('up'), queryHistory()]).toEqual([false, []]);
});
