/** What the view of a place asks first. Pure. */
import { servicesQuestion, topologyQuestion } from '../api/questions.ts';
import type { Place } from './place.ts';
import { windowOf } from './window.ts';

/** The address of that question; undefined where a view asks several things, or nothing by itself. */
export function firstQuestion({ view, params }: Place): string | undefined {
  const window = windowOf(params);
  if (view === 'services') return servicesQuestion(window);
  if (view === 'map') return topologyQuestion({ by: 'workload', window });
  return undefined;
}
