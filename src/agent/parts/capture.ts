import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { type AgentStatus, cutTexts } from '../../capture/index.ts';
import { captureFacts } from '../capture/capture-facts.ts';
import { CaptureState } from '../capture/capture-state.ts';
import { instrumentProbe, type InstrumentProbe } from '../capture/instrument-probe.ts';
import { ObstacleWatch } from '../capture/obstacles.ts';
import { captureLimits } from '../capture/refused-probes.ts';
import type { AgentSettings } from '../settings.ts';
import type { Closing } from './closing.ts';
import type { AgentData } from './data.ts';

export interface CaptureDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly closing: Closing;
  /** How the state of the instrument is read. Default: from its supervisor and its health socket. */
  readonly probe?: InstrumentProbe | undefined;
}

/** The capture config of this node, and the reasons why one of its monitors gets no data. */
export interface AgentCapture {
  readonly capture: CaptureState;
  readonly obstacles: ObstacleWatch;
}

/** Opens the capture state and the watch for obstacles. Neither runs before its `start` is called. */
export function openCapture(settings: AgentSettings, data: AgentData, deps: CaptureDeps): AgentCapture {
  const { clock, logger, closing } = deps;
  const { mapper, identity } = data;
  const capture: CaptureState = new CaptureState({
    node: settings.nodeName,
    dataDir: settings.dataDir,
    instrumentFile: settings.instrumentConfig,
    probe: deps.probe ?? instrumentProbe(settings, clock),
    clock,
    logger,
    onConfig: data.setConfig,
    counts: () => countsOf(data, obstacles, clock),
  });
  const obstacles: ObstacleWatch = new ObstacleWatch({
    clock,
    logger,
    monitors: () => mapper.limits.monitors,
    isHere: (namespace, pod) => identity.pods.isHere(namespace, pod),
    facts: (idle) => captureFacts(idle, { settings, clock, mapper, identity, capture }),
    limits: async () => {
      const { up, process } = capture.instrument;
      return up && process && settings.kernelCheck ? captureLimits(process.pid) : [];
    },
  });
  closing.add(() => obstacles.stop());
  closing.add(() => capture.stop());
  return { capture, obstacles };
}

function countsOf(
  { mapper, ingest, spans, exports }: AgentData,
  obstacles: ObstacleWatch,
  clock: Clock,
): Pick<AgentStatus, 'monitors' | 'limits' | 'totals' | 'exports' | 'secrets'> {
  return cutTexts({
    monitors: mapper.limits.monitors.map(({ rule, activeSeries, droppedSeries, lastSampleAt }, i) => ({
      namespace: rule.namespace,
      name: rule.name,
      activeSeries,
      droppedSeries,
      ...(spans.monitors[i]?.dropped ? { droppedSpans: spans.monitors[i].dropped } : {}),
      ...(lastSampleAt === null ? {} : { lastSampleTime: wallTime(clock, lastSampleAt) }),
      ...obstacles.of(rule),
    })),
    ...obstacles.limits,
    exports: exports.statuses(),
    ...(exports.secretsRevision === '' ? {} : { secrets: exports.secretsRevision }),
    totals: { series: mapper.table.size, ...ingest.totals },
  });
}

/**
 * A moment of the monotonic clock by the wall clock as it is set now, in whole seconds: to the millisecond, the text for
 * one moment would change from call to call.
 */
function wallTime(clock: Clock, at: number): string {
  const ms = clock.now() - (clock.monotonic() - at);
  return new Date(Math.round(ms / 1_000) * 1_000).toISOString();
}
