#!/usr/bin/env node
import { systemClock } from '../base/clock.ts';
import { completeWord } from './completion/scripts.ts';
import { endProcess } from './end-process.ts';
import { complete } from './kubectl-svc/completion/complete.ts';
import { processHost } from './kubectl-svc/process-host.ts';
import { runPlugin } from './kubectl-svc/program.ts';

/** For the command `kubectl svc`, kubectl runs the program `kubectl-svc` from the PATH. */
const host = processHost(process, systemClock);
const [first, ...words] = process.argv.slice(2);
if (first !== completeWord) await endProcess(await runPlugin(process.argv.slice(2), host));
process.stdout.write(await complete(words, host));
await endProcess(0);
