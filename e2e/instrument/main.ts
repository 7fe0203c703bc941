/**
 * The real eBPF instrument against the agent and the operator, on this machine's kernel.
 *
 *     make e2e-instrument INSTRUMENT=/path/to/binary INSTRUMENT_VERSION=v0.10
 *
 * Two network namespaces stand in for two pods that talk HTTP and plain TCP to each other. The capture part of the
 * operator works against a real API server, a real agent takes the data, and a supervisor restarts the instrument as a
 * kubelet would. Needs Linux, root and `ip`. Without a binary it says that it was skipped and why, and exits with 0.
 */
import { accessSync, constants } from 'node:fs';
import { instrumentVersion } from '../../src/capture/index.ts';
import { networkUnavailable, PodNetwork } from './pod-network.ts';
import { runChecks } from './checks.ts';

const binary = process.env['INSTRUMENT'] ?? '';
const say = (line: string): void => void process.stdout.write(`${line}\n`);

function whyNot(): string | null {
  if (binary === '') return 'no binary was given: make e2e-instrument INSTRUMENT=/path/to/the/instrument';
  try {
    accessSync(binary, constants.X_OK);
  } catch {
    return `${binary} is not an executable file`;
  }
  return networkUnavailable();
}

const reason = whyNot();
if (reason !== null) say(`skipped: ${reason}`);
else {
  const network = PodNetwork.create(['web', 'client']);
  try {
    const failed = await runChecks(
      binary,
      instrumentVersion(process.env['INSTRUMENT_VERSION'] || 'v0.10'),
      network,
      say,
    );
    say(failed === 0 ? 'all checks passed' : `${failed} checks failed`);
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    await network.remove();
  }
}
