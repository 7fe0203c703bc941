import { nodeLabel } from '../../api/labels.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import type { LostNode } from '../fanout/failure.ts';
import { formatDuration } from '../../base/duration.ts';
import type { QuerySettings } from '../settings.ts';

/** The name of the scrape pool that every agent is listed in. */
export const agentPool = 'svc-agents';

export interface ProbeContext {
  readonly now: number;
  readonly seconds: number;
  readonly settings: QuerySettings;
}

/** The labels of an agent as a target. */
export function targetLabels(node: string): Record<'instance' | 'job' | typeof nodeLabel, string> {
  return { instance: node, job: 'svc-agent', [nodeLabel]: node };
}

/** The agents in the form of Prometheus' scrape targets: `up`, or `down` with the reason. Pure. */
export function targetsJson(
  agents: readonly ExpectedAgent[],
  lost: ReadonlyMap<string, LostNode>,
  { now, seconds, settings }: ProbeContext,
): object {
  return {
    activeTargets: agents.map(({ node, address = '' }) => {
      const failure = lost.get(node);
      const host = address.includes(':') ? `[${address}]` : address;
      const url = address === '' ? '' : `https://${host}:${settings.agentReadPort}/api/v1/read`;
      return {
        discoveredLabels: { __address__: address === '' ? '' : `${host}:${settings.agentReadPort}`, node },
        labels: targetLabels(node),
        scrapePool: agentPool,
        scrapeUrl: url,
        globalUrl: url,
        lastError: failure === undefined ? '' : `${failure.reason}: ${failure.message}`,
        lastScrape: new Date(now).toISOString(),
        lastScrapeDuration: failure === undefined ? seconds : failure.elapsedMs / 1000,
        health: failure === undefined ? 'up' : 'down',
        scrapeInterval: '0s',
        scrapeTimeout: formatDuration(settings.agentTimeout),
      };
    }),
    droppedTargets: [],
    droppedTargetCounts: { [agentPool]: 0 },
  };
}
