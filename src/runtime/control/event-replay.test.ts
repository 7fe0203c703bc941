import type { KubeObject } from '../../api/meta.ts';
import { silentLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { collectGarbage } from '../../testing/heap.ts';
import { SharedInformer } from '../watch/informer.ts';
import { EventReplay } from './event-replay.ts';

const pod = (name: string, version: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', uid: `uid-${name}`, resourceVersion: version },
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
