import type { Registry } from 'prom-client';
import { escapeLabelValue, type PageFamily, type PageSample } from './page.ts';

const encoder = new TextEncoder();
const types: ReadonlySet<string> = new Set(['counter', 'gauge', 'histogram', 'summary']);

/** The metrics of a registry as families of an exposition page, sorted by name. */
export async function ownFamilies(registry: Registry): Promise<PageFamily[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as RegistryMetric[];
  return metrics
    .filter(({ type }) => types.has(type))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, help, type, values }) => ({
      name,
      help,
      type: type as PageFamily['type'],
      unit: '',
      blocks: values.map(({ labels, value, metricName }): PageSample[] => [
        { suffix: metricName?.slice(name.length) ?? '', labels: encoder.encode(labelText(labels)), extra: '', value },
      ]),
    }));
}

interface RegistryMetric {
  name: string;
  help: string;
  type: string;
  values: { labels: Record<string, string | number>; value: number; metricName?: string }[];
}

function labelText(labels: Record<string, string | number>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabelValue(String(value))}"`)
    .join(',');
}
