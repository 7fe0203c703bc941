import { giveBack } from './run-registry.ts';

/** Started by the owner of a run, acts when that is gone: `node reap.ts RUN`. */
const run = process.argv[2];
if (run !== undefined && /^[0-9a-f]+$/.test(run)) await giveBack(run);
