/** The URLs of the views' first requests. Pure, and not in the API client, because `early.ts` needs them, too. */
import type { TopologyGrouping } from '../../src/api/page/types.ts';
import { questionOf } from './early.ts';

export interface TopologyRequest {
  readonly by: TopologyGrouping;
  /** A PromQL duration. */
  readonly window: string;
  /** Restricts the answer to this namespace. */
  readonly namespace?: string;
}

export const servicesQuestion = (window: string): string => questionOf('services', { window });

export const topologyQuestion = ({ by, window, namespace }: TopologyRequest): string =>
  questionOf('topology', { by, window, ...(namespace ? { namespace } : {}) });
