/** The first request of a view. Pure. */
import { servicesQuestion, topologyQuestion } from '../api/questions.ts';
import type { Place } from './place.ts';
import { windowOf } from './window.ts';

/** The URL of a view's first request; undefined if the view begins with several requests, or sends none by itself. */
export function firstQuestion({ view, params }: Place): string | undefined {
  const window = windowOf(params);
  if (view === 'services') return servicesQuestion(window);
  if (view === 'map') return topologyQuestion({ by: 'workload', window });
  return undefined;
}
