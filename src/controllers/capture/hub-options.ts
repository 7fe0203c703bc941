import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { AgentTransport, CompileEnvironment, CompileInput } from '../../capture/index.ts';
import type { ReadSecret } from './exports/export-secrets.ts';
import type { AgentPod } from './facts.ts';
import type { FailureMemory } from './failures/failure-memory.ts';
import type { CaptureMetrics } from './metrics.ts';
import type { RestartBudgetRules } from './restart-budget.ts';

/** The cluster as the caches show it now. */
export interface World extends Omit<CompileInput, 'environment' | 'unsent'> {
  /** When these facts change without an event. Default never. Units: ms of the monotonic clock. */
  validUntilMs?: number;
  /** Names of nodes whose Ready condition is True. */
  ready: ReadonlySet<string>;
  /** Node name → its agent's pod. */
  agents: ReadonlyMap<string, AgentPod>;
}

export interface HubOptions {
  clock: Clock;
  logger: Logger;
  random: () => number;
  environment: CompileEnvironment;
  /** The namespace of the agents: part of the names in their certificates. */
  namespace: string;
  /** Port of the agents' capture listener. */
  agentPort: number;
  /** Null as long as there is no client certificate. */
  transport: () => AgentTransport | null;
  read: () => World;
  /** Reads the Secrets that exports refer to; absent when exports may not have any. */
  readSecret?: ReadSecret;
  /** The record of the failures that earlier leaders met; without it these failures are forgotten. */
  failures?: Pick<FailureMemory, 'load' | 'remember' | 'stop'>;
  /** How often the edits of a namespace may restart a node's instrument. Default: `restartBudgetRules`. */
  restartBudget?: RestartBudgetRules;
  metrics?: CaptureMetrics;
}

/** The changes since the listener was last called. */
export interface HubChange {
  /** Whether there was a compile: if so, the outcome of any policy may have changed. */
  compiled: boolean;
  /** `namespace/name` of the monitors whose outcome changed. */
  monitors: ReadonlySet<string>;
  /** Nodes whose state changed. */
  nodes: ReadonlySet<string>;
}
