import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type CaptureMonitorRule, type CaptureObstacle, holdsPort } from '../../capture/index.ts';

/** What this node knows about capture, as far as it explains why a monitor has no data. */
export interface CaptureFacts {
  /** How long the instrument has run what it should; 0 while it does not. Units: ms. */
  readonly runningMs: number;
  /** What the kernel lacks, in words. */
  readonly kernel: string | null;
  /** Processes that the instrument says it watches; null when it does not say. */
  readonly attached: number | null;
  /** Live streams of containers whose pod nobody knows. */
  readonly unplaced: number;
  /** The ports on which a pod of the namespace listens; null when it cannot be seen. */
  readonly ports: (namespace: string, pod: string) => ReadonlySet<number> | null;
}

/** A new process is found within about 30 s; before twice that nothing is amiss. Units: ms. */
const settleMs = 60_000;

/**
 * Why a monitor without data has none on this node; null when all is in place and there is simply no traffic.
 * Pure. The order is from the node to the single pod: what stops everything explains the rest.
 */
export function obstacleOf(
  rule: Pick<CaptureMonitorRule, 'namespace' | 'pods' | 'ports'>,
  facts: CaptureFacts,
): CaptureObstacle | null {
  if (facts.runningMs < settleMs) return null;
  if (facts.kernel !== null) return { reason: 'KernelUnsupported', message: facts.kernel };
  const { ports } = rule;
  const closed = rule.pods.filter((pod) => {
    const open = facts.ports(rule.namespace, pod);
    return ports !== undefined && open !== null && ![...open].some((port) => holdsPort(ports, port));
  });
  if (rule.pods.length > 0 && closed.length === rule.pods.length) {
    const more = closed.length > 1 ? ` and ${closed.length - 1} more` : '';
    return { reason: 'PortNotOpen', message: `pod ${closed[0]}${more} does not listen on ${rule.ports}` };
  }
  if (facts.attached === 0) {
    return { reason: 'NotAttached', message: 'the instrument runs and watches no process' };
  }
  if (facts.unplaced > 0) {
    return { reason: 'MetadataMissing', message: `${facts.unplaced} streams of containers name no known pod` };
  }
  return null;
}

export interface ObstacleWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The monitors of this node with the time of their newest sample, ms since the epoch; 0 for none. */
  readonly monitors: () => readonly { rule: CaptureMonitorRule; lastSampleMs: number }[];
  /** Gathers the facts for the monitors that have no data. */
  readonly facts: (idle: readonly CaptureMonitorRule[]) => Promise<CaptureFacts>;
}

/** Time between two looks. Units: ms. */
const lookMs = 15_000;

/**
 * Looks now and then at the monitors without recent data, and remembers what stands in their way.
 * Guarantees: no cost beyond a walk over the monitors while all of them have data.
 */
export class ObstacleWatch {
  readonly #options: ObstacleWatchOptions;
  #found: ReadonlyMap<string, CaptureObstacle> = new Map();
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(options: ObstacleWatchOptions) {
    this.#options = options;
  }

  /** As a member of the monitor's row of the status: nothing where nothing is in the way. */
  of({ namespace, name }: Pick<CaptureMonitorRule, 'namespace' | 'name'>): { obstacle?: CaptureObstacle } {
    const obstacle = this.#found.get(`${namespace}/${name}`);
    return obstacle ? { obstacle } : {};
  }

  start(): void {
    if (!this.#stopped) this.#cancel = this.#options.clock.setTimeout(() => void this.#look(), lookMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async #look(): Promise<void> {
    const { clock, logger, monitors, facts } = this.#options;
    try {
      const idle = monitors().flatMap(({ rule, lastSampleMs }) =>
        lastSampleMs < clock.now() - settleMs && rule.pods.length > 0 ? [rule] : [],
      );
      const known = idle.length > 0 ? await facts(idle) : null;
      this.#found = new Map(
        idle.flatMap((rule) => {
          const obstacle = known && obstacleOf(rule, known);
          return obstacle ? [[`${rule.namespace}/${rule.name}`, obstacle] as const] : [];
        }),
      );
    } catch (error) {
      logger.warn('could not find out why a monitor has no data', { error: errorText(error) });
    }
    this.start();
  }
}
