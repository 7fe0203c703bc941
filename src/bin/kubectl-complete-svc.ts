#!/usr/bin/env node
import { systemClock } from '../base/clock.ts';
import { within } from '../base/time-limit.ts';
import { complete } from './kubectl-svc/completion/complete.ts';
import { processHost } from './kubectl-svc/process-host.ts';

/** How long a key press may wait for the cluster: the limit of kubectl's own completion. Units: ms. */
const deadlineMs = 5_000;

/** `kubectl_complete-svc`: kubectl calls a program of this name to complete "kubectl svc …". */
const host = processHost(process, systemClock);
const answer = (signal: AbortSignal): ReturnType<typeof complete> =>
  complete(process.argv.slice(2), { ...host, signal });
process.stdout.write(await within(systemClock, deadlineMs, answer, host.signal));
process.exit(0);
