import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { AgentClient, CaptureConfig } from '../../capture/index.ts';
import type { Limiter } from './limiter.ts';
import type { KnownConfig, NodeState } from './node-state.ts';

export interface LearnOptions {
  client: Pick<AgentClient, 'current' | 'running'>;
  /** Shared with the other agents: limits how many are asked at a time. */
  greeting: Limiter;
  logger: Logger;
  signal: AbortSignal;
}

/** An agent has configs from before this process led. */
export function needsAny({ needs }: NodeState): boolean {
  return needs.current || needs.running;
}

/**
 * Asks an agent for the configs that it has from before this process led, so that a change can be classified as
 * restarting or not.
 * A config that the agent does not return stays unknown: sending the wanted config is right in any case.
 * Returns a config to roll back to, when the newest one turns out to have failed.
 */
export async function learnConfigs(node: NodeState, options: LearnOptions): Promise<KnownConfig | null> {
  const { client, greeting, logger, signal } = options;
  const ask = async (what: 'current' | 'running'): Promise<CaptureConfig | null> => {
    try {
      return await greeting.run(() => client[what](signal));
    } catch (error) {
      if (!signal.aborted) {
        logger.warn('agent did not tell its config', { node: node.name, what, error: errorText(error) });
      }
      return null;
    }
  };
  let back: KnownConfig | null = null;
  if (node.needs.current) {
    const config = await ask('current');
    if (node.needs.current) back = node.learned(config);
  }
  if (node.needs.running) {
    const config = await ask('running');
    if (node.needs.running) back = node.learnedRunning(config) ?? back;
  }
  return back;
}
