/** The text filter of the list of services. Pure. */
import type { ServiceSummary } from '../../src/api/page/types.ts';
import { badShare } from '../parts/level.ts';

const states: Readonly<Record<string, (service: ServiceSummary) => boolean>> = {
  failing: ({ errorShare }) => (errorShare ?? 0) >= badShare,
  captured: ({ captured }) => captured,
  uncaptured: ({ captured }) => !captured,
  unmonitored: ({ monitors }) => monitors?.length === 0,
};

/**
 * Services that match every word: `ns:` and `node:` take a prefix, `is:` a state, anything else a part of
 * `namespace/workload`, ignoring case. A state that is not known, such as one that is half typed, filters nothing.
 */
export function filterServices(services: readonly ServiceSummary[], text: string): ServiceSummary[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return services.filter((service) => words.every((word) => matches(service, word)));
}

function matches(service: ServiceSummary, word: string): boolean {
  const { namespace, workload, nodes } = service;
  const [, field, value = ''] = /^(ns|node|is):(.*)$/.exec(word) ?? [];
  if (field === 'ns') return namespace.toLowerCase().startsWith(value);
  if (field === 'node') return nodes.some((node) => node.toLowerCase().startsWith(value));
  if (field === 'is') return states[value]?.(service) ?? true;
  return `${namespace}/${workload}`.toLowerCase().includes(word);
}
