import type { Clock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import type { RestartBudgetRules } from '../../controllers/capture/restart-budget.ts';
import { setupCapture } from '../../controllers/capture/setup.ts';
import { setupClusterTrafficPolicies } from '../../controllers/traffic-status/policies.ts';
import { setupTrafficMonitors } from '../../controllers/traffic-status/monitors.ts';
import type { CaptureHub } from '../../controllers/capture/hub.ts';
import type { KubeClient } from '../../kube/index.ts';
import { Manager } from '../../runtime/control/manager.ts';
import { ShiftedClock } from '../shifted-clock.ts';
import { until } from '../until.ts';
import type { FakeAgentOptions } from './fake-agent.ts';
import { CaptureFleet } from './fleet.ts';

export interface CaptureOperator {
  readonly hub: CaptureHub;
  /** How many reconciles of a controller have ended. */
  reconciles(controller: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the capture part of an operator as the leader: compile, push, and the statuses of monitors and policies. */
export function startCaptureOperator(options: {
  client: KubeClient;
  clock: Clock;
  agentPort: number;
  restartBudget?: RestartBudgetRules;
  instrumentVersion?: string;
}): CaptureOperator {
  const { client, clock, agentPort, restartBudget, instrumentVersion = 'v0.10.0' } = options;
  const manager = new Manager({
    client,
    clock,
    logger: silentLogger,
    component: 'svc-controller',
    instance: 'test',
    freezeCache: true,
  });
  const hub = setupCapture(manager, {
    namespace: 'svc-system',
    instrumentVersion,
    instrumentPorts: '80,443,8080,8443',
    agentPort,
    ...(restartBudget ? { restartBudget } : {}),
    random: () => 0.5,
  });
  setupTrafficMonitors(manager, hub, 'svc-system');
  setupClusterTrafficPolicies(manager, hub);
  const stopped = new AbortController();
  const done = manager.run(stopped.signal);
  return {
    hub,
    async reconciles(controller) {
      const { values } = await manager.metrics.reconcileTotal.get();
      return values.filter((one) => one.labels.controller === controller).reduce((sum, { value }) => sum + value, 0);
    },
    async stop() {
      stopped.abort();
      await done;
    },
  };
}

/**
 * A fake API server and fake agents, with the capture part of an operator in the same process. The operator reads its
 * certificate from its Secret, as in a cluster.
 */
export class CaptureWorld extends CaptureFleet {
  readonly clock = new ShiftedClock();
  readonly #client: KubeClient;
  #operator: CaptureOperator;

  private constructor(fleet: CaptureFleet) {
    super(fleet.api, fleet.agents);
    this.#client = this.api.client(this.clock);
    this.#operator = this.#lead();
  }

  static async start(options: { nodes: number; agent?: Partial<FakeAgentOptions> }): Promise<CaptureWorld> {
    return new CaptureWorld(await CaptureFleet.open(options));
  }

  get hub(): CaptureHub {
    return this.#operator.hub;
  }

  reconciles(controller: string): Promise<number> {
    return this.#operator.reconciles(controller);
  }

  /** Stops the leader and starts a new one, which knows only what the API server and the agents report. */
  async changeLeader(): Promise<void> {
    await this.#operator.stop();
    this.#operator = this.#lead();
  }

  /** Advances the clock until statuses may be written again, and makes every agent report an update. */
  refresh(): void {
    this.clock.shift(6_000);
    for (const agent of this.agents) agent.update({});
  }

  /** Waits until every agent runs its desired config. */
  async settled(): Promise<void> {
    await until(
      'every node runs what is wanted',
      () =>
        this.hub.nodes.size === this.agents.length && [...this.hub.nodes.values()].every((n) => n.state === 'running'),
    );
  }

  async stop(): Promise<void> {
    await this.#operator.stop();
    await this.#client.close();
    await this.close();
  }

  #lead(): CaptureOperator {
    return startCaptureOperator({ client: this.#client, clock: this.clock, agentPort: this.agents[0]?.port ?? 9093 });
  }
}
