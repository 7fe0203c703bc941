import { FakeClock } from '../../testing/fake-clock.ts';
import { NamespaceAccess } from './namespace-access.ts';

test('after one review fails, no review follows the 16 that run at the same time', async () => {
  const asked: string[] = [];
  const answer = Promise.withResolvers<boolean>();
  const access = new NamespaceAccess({
    clock: new FakeClock(),
    namespaces: { synced: true, names: () => Array.from({ length: 100 }, (_, i) => `ns-${i}`) },
    reviews: {
      mayReadPods: async (_user, namespace) => {
        if (namespace === undefined) return false;
        asked.push(namespace);
        if (namespace === 'ns-0') throw new Error('the API server is away');
        return answer.promise;
      },
    },
  });
  await expect(access.visible({ username: 'a' })).rejects.toThrow('the API server is away');
  answer.resolve(true);
  await new Promise((done) => setImmediate(done));
  expect(asked).toHaveLength(16);
});
