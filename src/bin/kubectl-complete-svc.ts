#!/usr/bin/env node
import { systemClock } from '../base/clock.ts';
import { endProcess } from './end-process.ts';
import { complete } from './kubectl-svc/completion/complete.ts';
import { processHost } from './kubectl-svc/process-host.ts';

/** The program `kubectl_complete-svc`, which kubectl calls to complete "kubectl svc …". */
process.stdout.write(await complete(process.argv.slice(2), processHost(process, systemClock)));
await endProcess(0);
