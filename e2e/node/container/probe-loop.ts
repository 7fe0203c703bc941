import { attempt } from './probe.ts';
import type { ProbeResult, ProbeTarget } from './probe.ts';
import type { Probe } from '../types.ts';

/** `verdict` is called when the verdict of a probe changes, `attemptFailed` on every failed attempt, for Events. */
export interface ProbeListener {
  verdict(healthy: boolean, message: string | undefined): void;
  attemptFailed(message: string): void;
}

/**
 * Probes until stopped: first after `initialDelaySeconds` (or `firstMs`), then every `periodSeconds`.
 * The verdict turns good after `successThreshold` successes in a row and bad after `failureThreshold` failures
 * in a row.
 * `eager` probes every half second until the first good verdict, so that readiness is noticed soon; failures before
 * that verdict neither count nor are reported. Only for readiness: eager liveness probes would kill containers that are
 * only slow to start.
 */
export function startProbe(
  probe: Probe,
  target: ProbeTarget,
  listener: ProbeListener,
  options: { eager?: boolean; firstMs?: number } = {},
): () => void {
  const period = (probe.periodSeconds ?? 10) * 1000;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let successes = 0;
  let failures = 0;
  let healthy: boolean | undefined;
  const next = (ms: number): void => {
    if (!stopped) timer = setTimeout(() => void round(), ms);
  };
  const record = (result: ProbeResult): void => {
    if (result === undefined) {
      failures = 0;
      successes++;
      if (healthy !== true && successes >= (probe.successThreshold ?? 1)) {
        healthy = true;
        listener.verdict(true, undefined);
      }
      return;
    }
    successes = 0;
    failures++;
    if (healthy !== undefined || !options.eager) listener.attemptFailed(result);
    if (healthy !== false && failures >= (probe.failureThreshold ?? 3) && !(options.eager && healthy === undefined)) {
      healthy = false;
      listener.verdict(false, result);
    }
  };
  const round = async (): Promise<void> => {
    const result = await attempt(probe, target);
    if (stopped) return;
    record(result);
    next(options.eager && healthy !== true ? Math.min(period, 500) : period);
  };
  next(options.firstMs ?? (probe.initialDelaySeconds ?? 0) * 1000);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
