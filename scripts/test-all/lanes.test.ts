import { runLanes, type LaneStep } from './lanes.ts';

/** Runs the lanes with steps that end when `finish` names them; `log` holds the begin and the end of each step. */
function lanesOf(...lanes: LaneStep[][]): {
  log: string[];
  finish: (name: string) => Promise<void>;
  all: Promise<void>;
} {
  const log: string[] = [];
  const running = new Map<string, () => void>();
  const all = runLanes(lanes, async ({ name }) => {
    log.push(`${name} begins`);
    await new Promise<void>((resolve) => running.set(name, resolve));
    log.push(`${name} ends`);
  });
  const finish = async (name: string): Promise<void> => {
    running.get(name)!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { log, finish, all };
}

test('lanes run in parallel, and the steps of a lane one after another', async () => {
  const { log, finish, all } = lanesOf([{ name: 'a1' }, { name: 'a2' }], [{ name: 'b1' }]);
  expect(log).toEqual(['a1 begins', 'b1 begins']);
  await finish('a1');
  expect(log.slice(2)).toEqual(['a1 ends', 'a2 begins']);
  await finish('b1');
  await finish('a2');
  await all;
  expect(log.slice(4)).toEqual(['b1 ends', 'a2 ends']);
});

test('a step waits for the step of another lane that it comes after', async () => {
  const { log, finish, all } = lanesOf([{ name: 'a1' }], [{ name: 'b1' }, { name: 'b2', after: 'a1' }]);
  await finish('b1');
  expect(log).toEqual(['a1 begins', 'b1 begins', 'b1 ends']);
  await finish('a1');
  expect(log.slice(3)).toEqual(['a1 ends', 'b2 begins']);
  await finish('b2');
  await all;
});

test('an error of a step ends its lane, and is thrown when the other lanes have ended', async () => {
  const ran: string[] = [];
  const lanes = [[{ name: 'a1' }, { name: 'a2' }], [{ name: 'b1', after: 'a2' }]];
  const all = runLanes(lanes, ({ name }) => {
    ran.push(name);
    return name === 'a1' ? Promise.reject(new Error('no room')) : Promise.resolve();
  });
  await expect(all).rejects.toThrow('no room');
  expect(ran).toEqual(['a1', 'b1']);
});
