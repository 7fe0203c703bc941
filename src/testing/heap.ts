import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collects all garbage, also what is let go of only when the objects that it belonged to have been collected. */
export async function collectGarbage(): Promise<void> {
  collect();
  await new Promise((resolve) => setImmediate(resolve));
  collect();
}

/** What the heap holds once all garbage is collected. Units: bytes. */
export async function heapAfterGc(): Promise<number> {
  await collectGarbage();
  return process.memoryUsage().heapUsed;
}
