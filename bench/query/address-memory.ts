/**
 * Measures, in a process of its own, the memory of the query server's informers and index of addresses. The API server
 * that has the pods runs in another process. The first message is that server's address. Each later message is answered
 * with the memory.
 */
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { createKubeClient } from '../../src/kube/index.ts';
import { watchAddresses } from '../../src/query/addresses/watch-addresses.ts';
import { SharedCache } from '../../src/runtime/index.ts';
import { until } from '../../src/testing/until.ts';

/** Units: bytes. */
export interface Held {
  readonly heap: number;
  readonly pods: number;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heap = (): number => {
  for (let i = 0; i < 4; i++) collect();
  return process.memoryUsage().heapUsed;
};

const [{ server }] = (await once(process, 'message')) as [{ server: string }];
const client = createKubeClient({ server });
const cache = new SharedCache({ client, clock: systemClock, logger: silentLogger });
const before = heap();
const addresses = watchAddresses(cache, systemClock);
cache.start(new AbortController().signal);
await until('the lists', () => addresses.synced);
process.on('message', () =>
  process.send!({ heap: heap() - before, pods: [...addresses.index.pods()].length } satisfies Held),
);
process.send!({});
