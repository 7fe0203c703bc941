/** The addresses of what views ask first. Pure, and apart from how it is asked: the early script knows them too. */
import type { TopologyGrouping } from '../../src/api/page/types.ts';
import { questionOf } from './early.ts';

export interface TopologyRequest {
  readonly by: TopologyGrouping;
  /** A PromQL duration. */
  readonly window: string;
  /** Only what concerns it. */
  readonly namespace?: string;
}

export const servicesQuestion = (window: string): string => questionOf('services', { window });

export const topologyQuestion = ({ by, window, namespace }: TopologyRequest): string =>
  questionOf('topology', { by, window, ...(namespace ? { namespace } : {}) });
