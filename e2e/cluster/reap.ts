import { giveBack, isRunId } from './run-registry.ts';

/**
 * Releases the addresses and files of a run of a test cluster: `node reap.ts RUN`. The run's reaper, a process that
 * waits for the end of the run's owner, executes this.
 */
const run = process.argv[2];
if (run !== undefined && isRunId(run)) await giveBack(run);
