import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type CaptureLimit, type CaptureMonitorRule, type CaptureObstacle, holdsPort } from '../../capture/index.ts';

/** What this node knows about capture that can explain why a monitor has no data. */
export interface CaptureFacts {
  /** How long the instrument has run the file that it should run; 0 while it does not. Units: ms. */
  readonly runningMs: number;
  /** What the kernel lacks, in words; null when it lacks nothing. */
  readonly kernel: string | null;
  /** `kernel.perf_event_paranoid`; null when it cannot be read. */
  readonly paranoid: number | null;
  /** The number of watched processes that the instrument reports; null when it reports no number. */
  readonly attached: number | null;
  /** Number of live metric streams of containers whose pod is unknown. */
  readonly unplaced: number;
  /** The ports on which a pod of the namespace listens; null when they cannot be seen. */
  readonly ports: (namespace: string, pod: string) => ReadonlySet<number> | null;
}

/**
 * The instrument finds a new process within about 30 s. Missing data is reported only after twice that time. Units: ms.
 */
const settleMs = 60_000;
/** How many of a monitor's port ranges a message names. */
const namedPorts = 3;

/**
 * The reason why a monitor has no data on this node; null when everything is in place and there is no traffic. Pure.
 * Checks go from the node to the single pod: an obstacle that stops all capture explains the others.
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
  if (ports !== undefined && rule.pods.length > 0 && closed.length === rule.pods.length) {
    const more = closed.length > 1 ? ` and ${closed.length - 1} more` : '';
    return { reason: 'PortNotOpen', message: `pod ${closed[0]}${more} does not listen on ${firstPorts(ports)}` };
  }
  if (facts.attached === 0) {
    return { reason: 'NotAttached', message: `the instrument runs and watches no process${refusal(facts.paranoid)}` };
  }
  if (facts.unplaced > 0) {
    return { reason: 'MetadataMissing', message: `${facts.unplaced} streams of containers name no known pod` };
  }
  return null;
}

/** The first of the ports, and how many follow: a monitor may name 64 ranges. */
function firstPorts(ports: string): string {
  const ranges = ports.split(',');
  const more = ranges.length > namedPorts ? ` and ${ranges.length - namedPorts} more` : '';
  return ranges.slice(0, namedPorts).join(',') + more;
}

/**
 * In mainline Linux, perf_event_paranoid has no level above 2. Distributions added some, which may require SYS_ADMIN.
 */
function refusal(paranoid: number | null): string {
  if (paranoid === null || paranoid <= 2) return '';
  return `; kernel.perf_event_paranoid is ${paranoid}, where kernels refuse its probes: set it to 2 on the node, or set --instrument-privileges=sys-admin`;
}

export interface ObstacleWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The monitors of this node, and when the newest sample of each arrived: monotonic time in ms, null for none. */
  readonly monitors: () => readonly { rule: CaptureMonitorRule; lastSampleAt: number | null }[];
  /** False for a pod that has left the node. A config names it for a while, because its last data comes later. */
  readonly isHere: (namespace: string, pod: string) => boolean;
  /** Gathers the facts for the monitors that have no data, which are given without the pods that have left. */
  readonly facts: (idle: readonly CaptureMonitorRule[]) => Promise<CaptureFacts>;
  /** What the running instrument cannot capture on this node. */
  readonly limits: () => Promise<readonly CaptureLimit[]>;
}

/** Time between two checks. Units: ms. */
const lookMs = 15_000;

/**
 * Periodically checks the monitors without recent data and remembers the obstacle of each, and the limits of the node.
 * Guarantees: while all monitors have data, a check only walks over them, and reads two small files for the limits.
 */
export class ObstacleWatch {
  readonly #options: ObstacleWatchOptions;
  #found: ReadonlyMap<string, CaptureObstacle> = new Map();
  #limits: readonly CaptureLimit[] = [];
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(options: ObstacleWatchOptions) {
    this.#options = options;
  }

  /** The obstacle as a member of the monitor's status row; empty when there is none. */
  of({ namespace, name }: Pick<CaptureMonitorRule, 'namespace' | 'name'>): { obstacle?: CaptureObstacle } {
    const obstacle = this.#found.get(`${namespace}/${name}`);
    return obstacle ? { obstacle } : {};
  }

  /** The node's limits as a member of the status; empty when there are none. */
  get limits(): { limits?: CaptureLimit[] } {
    return this.#limits.length > 0 ? { limits: [...this.#limits] } : {};
  }

  start(): void {
    if (!this.#stopped) this.#cancel = this.#options.clock.setTimeout(() => void this.#look(), lookMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async #look(): Promise<void> {
    const { clock, logger, monitors, isHere, facts, limits } = this.#options;
    try {
      this.#limits = await limits();
      const recent = clock.monotonic() - settleMs;
      const idle = monitors().flatMap(({ rule, lastSampleAt }) => {
        if (lastSampleAt !== null && lastSampleAt >= recent) return [];
        const pods = rule.pods.filter((pod) => isHere(rule.namespace, pod));
        return pods.length > 0 ? [{ ...rule, pods }] : [];
      });
      const known = idle.length > 0 ? await facts(idle) : null;
      this.#found = new Map(
        idle.flatMap((rule) => {
          const obstacle = known && obstacleOf(rule, known);
          return obstacle ? [[`${rule.namespace}/${rule.name}`, obstacle] as const] : [];
        }),
      );
    } catch (error) {
      logger.warn('the reason why a monitor has no data could not be determined', { error: errorText(error) });
    }
    this.start();
  }
}
