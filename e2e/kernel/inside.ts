/**
 * The program in the virtual machine: starts the product and the workloads, runs the checks, and reports in lines of
 * JSON on its standard output. Usage: inside.mjs <orders.json> <work folder>.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Check, KnownFault } from './check.ts';
import { missingCapabilities } from './check-capabilities.ts';
import { clock } from './check-clock.ts';
import { deaths } from './check-deaths.ts';
import { flows } from './check-flows.ts';
import { kernel } from './check-kernel.ts';
import { monitors } from './check-monitors.ts';
import { otherProtocols } from './check-protocols.ts';
import { requests } from './check-requests.ts';
import { tcp } from './check-tcp.ts';
import type { Orders, Report } from './orders.ts';
import { KernelStage } from './stage.ts';

/** The groups of checks, in the order in which they run: later groups rely on `kernel` and `requests`. */
const groups: Readonly<Record<string, readonly Check[]>> = {
  kernel,
  requests,
  flows,
  // Before `tcp`, which restricts the monitor to some families of metrics.
  protocols: otherProtocols,
  tcp,
  monitors,
  deaths,
  capabilities: missingCapabilities,
  // The last group, since its checks leave the clock an hour ahead.
  clock,
};

const [ordersFile = '', dir = ''] = process.argv.slice(2);
const orders = JSON.parse(readFileSync(ordersFile, 'utf8')) as Orders;
const report = (line: Report): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const step = (text: string): void => report({ kind: 'step', text });

async function start(stage: KernelStage): Promise<void> {
  await stage.startPods();
  step('all workloads listen');
  stage.policy({
    // What no monitor selects is not captured, whatever port it listens on.
    capture: { mode: 'AllowList' },
    network: { enabled: true },
    instrument: { exportInterval: '5s' },
    rollout: { minInterval: '0s', maxUnavailable: 1 },
  });
  stage.monitor('shop', { selector: { matchLabels: { tier: 'shop' } } });
  stage.startOperator();
  await stage.startAgent();
  step('the agent has started');
  stage.startInstrument();
}

async function runChecks(stage: KernelStage): Promise<void> {
  let failed = false;
  for (const [name, checks] of Object.entries(groups)) {
    if (orders.only.length > 0 && name !== 'kernel' && !orders.only.includes(name)) continue;
    for (const { what, real, run } of checks) {
      const told = `${name}: ${what}`;
      if (real && stage.standsIn) {
        report({ kind: 'check', outcome: 'skipped', what: told, seen: 'only the real instrument shows it' });
        continue;
      }
      try {
        report({ kind: 'check', outcome: 'passed', what: told, seen: (await run(stage)) ?? '' });
      } catch (error) {
        if (error instanceof KnownFault) {
          report({ kind: 'check', outcome: 'skipped', what: told, seen: error.message });
          continue;
        }
        report({ kind: 'check', outcome: 'failed', what: told, seen: (error as Error).message });
        // The logs are reported at the first failure: later failures may be its consequences, and may take long.
        if (!failed) tellWords(stage);
        failed = true;
      }
    }
  }
  if (failed) tellWords(stage);
}

function tellWords(stage: KernelStage): void {
  report({ kind: 'words', of: 'the instrument', text: stage.instrument.log.slice(-4_000) });
  report({ kind: 'words', of: 'the agent', text: stage.agent.log.slice(-4_000) });
}

let stage: KernelStage | undefined;
try {
  stage = await KernelStage.open(orders, join(dir, 'stage'));
  await start(stage);
  await runChecks(stage);
} catch (error) {
  report({
    kind: 'check',
    outcome: 'failed',
    what: 'the product and the workloads start',
    seen: String((error as Error).stack),
  });
}
if (orders.keep && stage !== undefined) {
  step('the checks are over; everything goes on until the machine is ended');
  await new Promise(() => undefined);
}
await stage?.stop();
report({ kind: 'end' });
// Exits even if a socket is still open: the machine is switched off next.
process.stdout.write('', () => process.exit(0));
