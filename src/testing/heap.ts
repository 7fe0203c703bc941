import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collects all garbage, including objects that become garbage only once others have been collected. */
export async function collectGarbage(): Promise<void> {
  collect();
  await new Promise((resolve) => setImmediate(resolve));
  collect();
}

/** Size of the heap after all garbage has been collected. Units: bytes. */
export async function heapAfterGc(): Promise<number> {
  await collectGarbage();
  return process.memoryUsage().heapUsed;
}
