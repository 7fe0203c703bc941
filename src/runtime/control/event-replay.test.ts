import type { KubeObject } from '../../api/meta.ts';
import { silentLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { collectGarbage } from '../../testing/heap.ts';
import { SharedInformer } from '../watch/informer.ts';
import { EventReplay } from './event-replay.ts';

const pod = (name: string, version: string, uid = `uid-${name}`): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', uid, resourceVersion: version },
});

let informer: SharedInformer;
let replay: EventReplay;
let seen: string[];
beforeEach(() => {
  informer = new SharedInformer({
    source: { resource: coreResources.pods },
    logger: silentLogger,
    clock: new FakeClock(),
  });
  replay = new EventReplay(informer);
  seen = [];
});
afterEach(() => informer.close());

const run = (name: string): Promise<void> =>
  replay.run({ namespace: 'shop', name }, async ({ type, object }) => {
    seen.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion}`);
  });

/** As `run`, with a handler that throws after it has got the first event. */
const fail = (name: string): Promise<void> =>
  expect(
    replay.run({ namespace: 'shop', name }, async ({ type, object }) => {
      seen.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion} failed`);
      throw new Error('made half of it');
    }),
  ).rejects.toThrow('made half of it');

/** Creates and deletes pods. Returns the last state of each. */
function churn(count: number): WeakRef<KubeObject>[] {
  return Array.from({ length: count }, (_, i) => {
    informer.upsert(pod(`p${i}`, '1'));
    const last = pod(`p${i}`, '2');
    informer.remove(last);
    return new WeakRef(last);
  });
}

test('objects that are deleted before the handler gets them are not kept: a standby would keep every one', async () => {
  const gone = churn(1_000);
  await collectGarbage();
  expect(gone.filter((ref) => ref.deref() !== undefined)).toHaveLength(0);
  await run('p0');
  expect(seen).toEqual([]);
});

test('an object that the handler got is reported as deleted once, in its last state', async () => {
  informer.upsert(pod('a', '1'));
  await run('a');
  informer.upsert(pod('a', '2'));
  informer.remove(pod('a', '3'));
  await run('a');
  await run('a');
  expect(seen).toEqual(['ADDED a 1', 'DELETED a 3']);
});

test('an object is reported as deleted although the handler failed when it was added', async () => {
  informer.upsert(pod('a', '1'));
  await fail('a');
  informer.remove(pod('a', '2'));
  await fail('a');
  await run('a');
  await run('a');
  expect(seen).toEqual(['ADDED a 1 failed', 'DELETED a 2 failed', 'DELETED a 2']);
});

test('an object that failed to be added and was replaced is reported as deleted before the new one is added', async () => {
  informer.upsert(pod('a', '1'));
  await fail('a');
  informer.replace([pod('a', '3', 'another')]);
  await run('a');
  expect(seen).toEqual(['ADDED a 1 failed', 'DELETED a 1', 'ADDED a 3']);
});

test('an event whose handler failed is passed again, in the newest state, and once it has succeeded no more', async () => {
  informer.upsert(pod('a', '1'));
  await fail('a');
  await run('a');
  informer.upsert(pod('a', '2'));
  await fail('a');
  informer.upsert(pod('a', '3'));
  await run('a');
  await run('a');
  expect(seen).toEqual(['ADDED a 1 failed', 'ADDED a 1', 'MODIFIED a 2 failed', 'MODIFIED a 3']);
});

test('an object that is deleted while the handler has it is reported as deleted in its last state', async () => {
  informer.upsert(pod('a', '1'));
  await replay.run({ namespace: 'shop', name: 'a' }, async ({ type }) => {
    seen.push(type);
    informer.remove(pod('a', '2'));
  });
  await run('a');
  expect(seen).toEqual(['ADDED', 'DELETED a 2']);
});
