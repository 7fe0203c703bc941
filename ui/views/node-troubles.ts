/** The problems in a node's report, as sentences. Pure. */
import type { NodeReport } from '../../src/api/page/types.ts';

/** Certificates are renewed with much more time left than this; with less time left, the renewal fails. Unit: ms. */
const certificateLeftMs = 7 * 86_400_000;
/** With a larger clock difference, times of different nodes cannot be compared. Unit: ms. */
const clockOffMs = 1_000;

export function troublesOf(report: NodeReport, nowMs: number): string[] {
  const { instrumentUp, phase, seriesActive, seriesLimit, seriesLimitHits, clockOffsetMs, certificateEndMs } = report;
  return [
    ...(instrumentUp === false ? ['the instrument does not run'] : []),
    ...(phase === 'Failed' ? ['the configuration failed'] : []),
    ...(phase === 'Received' || phase === 'Written' ? ['the configuration is not running yet'] : []),
    ...report.notCaptured.map(
      ({ namespace, monitor, reason }) => `does not run monitor ${namespace}/${monitor}: ${reason}`,
    ),
    ...((seriesLimitHits ?? 0) > 0 ? [`${seriesLimitHits} series went beyond a limit`] : []),
    ...(seriesActive !== null && seriesLimit && seriesActive > seriesLimit * 0.9 ? ['the store is nearly full'] : []),
    ...(Math.abs(clockOffsetMs ?? 0) > clockOffMs ? [`the clock is off by ${Math.round(clockOffsetMs!)} ms`] : []),
    ...(certificateEndMs !== null && certificateEndMs - nowMs < certificateLeftMs
      ? [certificateEndMs > nowMs ? 'the certificate ends soon' : 'the certificate has ended']
      : []),
  ];
}
