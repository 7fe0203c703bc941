import type { Report } from './report.ts';
import type { Stage } from './stage.ts';
import { runTour } from './tour.ts';

export interface PlayOptions {
  report: Report;
  start: () => Promise<Stage>;
  /** Ends after the tour; otherwise the stage stays up until the signal. */
  once: boolean;
  /** Ends the start, the tour, or the time after it. */
  signal: AbortSignal;
}

/**
 * Starts the stage, shows the tour and where to look, and stops the stage.
 * Returns the exit code: 0 if the tour came to its end and every check of it was as expected; 130 if it was interrupted
 * before; 1 if a check was not as expected, or something failed.
 */
export async function play({ report, start, once, signal }: PlayOptions): Promise<number> {
  const started = performance.now();
  let stage: Stage | undefined;
  let toured = false;
  try {
    stage = await start();
    await runTour(stage, report, signal);
    toured = true;
    const { queryTarget, cluster } = stage;
    report.show(`\nTo look at${once ? '' : ', until Ctrl-C'}:
  the page     https://127.0.0.1:${queryTarget.port}/  (certificate of our own CA)
  PromQL       curl -sk 'https://127.0.0.1:${queryTarget.port}/api/v1/query?query=sum(svc_agent_up)'
  the cluster  export KUBECONFIG=${cluster.kubeconfig}; ${cluster.binaries.kubectl} get svcdev -A`);
    if (!once) await aborted(signal);
  } catch (error) {
    if (!signal.aborted) report.expect('the demo', false, error instanceof Error ? error.message : String(error));
  } finally {
    await stage?.stop();
  }
  if (report.failures.length > 0) {
    report.show(`\ndemo: ${report.failures.length} line(s) not as expected: ${report.failures.join('; ')}`);
    return 1;
  }
  // Interrupted during the start: once this process is gone, a helper (the reaper) releases what the cluster has taken.
  if (!toured) return 130;
  report.show(
    signal.aborted
      ? 'demo: stopped'
      : `demo: every line was as expected, ${Math.round((performance.now() - started) / 1000)} s in all`,
  );
  return 0;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
