#!/usr/bin/env node
import { systemClock } from '../base/clock.ts';
import { complete } from './kubectl-svc/completion/complete.ts';
import { processHost } from './kubectl-svc/process-host.ts';

/** `kubectl_complete-svc`: kubectl calls a program of this name to complete "kubectl svc …". */
process.stdout.write(await complete(process.argv.slice(2), processHost(process, systemClock)));
process.exit(0);
