import { giveBack } from './run-registry.ts';

/** Releases what a run holds: `node reap.ts RUN`. The run's reaper executes this when the run's owner is gone. */
const run = process.argv[2];
if (run !== undefined && /^[0-9a-f]+$/.test(run)) await giveBack(run);
