#!/usr/bin/env node
import { systemClock } from '../base/clock.ts';
import { processHost } from './kubectl-svc/process-host.ts';
import { runPlugin } from './kubectl-svc/program.ts';

/** `kubectl svc`: kubectl runs a program of this name from the PATH. */
process.exit(await runPlugin(process.argv.slice(2), processHost(process, systemClock)));
