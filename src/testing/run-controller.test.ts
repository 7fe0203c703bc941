import { jest } from '@jest/globals';
import { coreResources } from '../api/core-resources.ts';
import { aConfigMap, anObject } from './builders/objects.ts';
import { FakeApiServer } from './fake-api-server/index.ts';
import { noFaults, runController } from './run-controller.ts';

const { configMaps } = coreResources;
const broken = (): never => {
  throw new Error('broken');
};
/** The servers that the work starts and does not stop. */
async function leftBy(work: () => Promise<unknown>): Promise<string[]> {
  const started: FakeApiServer[] = [];
  const start = jest.spyOn(FakeApiServer.prototype, 'listen').mockImplementation(async function (this: FakeApiServer) {
    start.mockRestore();
    started.push(this);
    await this.listen();
  });
  await work();
  expect(started).toHaveLength(1);
  const answers = await Promise.allSettled(started.map(({ url }) => fetch(url)));
  await Promise.all(started.map((server) => server.stop()));
  return started.filter((_, i) => answers[i]!.status === 'fulfilled').map(({ url }) => url);
}

test.each([
  ['an object of a kind that the server does not know', () => runController(() => {}, [anObject({ kind: 'Strange' })])],
  ['a script that throws', () => runController(() => {}, [], broken)],
  ['a reconciler that throws', () => runController(broken)],
])('%s leaves no server behind', async (_what, run) => {
  expect(await leftBy(() => expect(run()).rejects.toThrow(/broken|Strange/))).toEqual([]);
});

test('a harness that is declared with `await using` stops at the end of its block, also when an assertion throws', async () => {
  const failing = async (): Promise<void> => {
    await using harness = await runController(() => {}, [aConfigMap()]);
    expect(harness.server.storage.list(configMaps)).toEqual([]);
  };
  expect(await leftBy(() => expect(failing()).rejects.toThrow('toEqual'))).toEqual([]);
});

test('a harness that the test has stopped may be stopped again', async () => {
  await using harness = await runController(() => {}, [], noFaults);
  await harness.stop();
  await expect(harness.stop()).resolves.toBeUndefined();
});
