import type { InstrumentConfig, Sampler, Selector } from './config.ts';
import { globMatches } from './glob.ts';

/** The facts about a process and its pod by which the instrument decides whether to instrument the process. */
export interface Workload {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Names by selector field: `k8s_deployment_name`, `k8s_replicaset_name`, … of the owners that exist. */
  readonly owners: Readonly<Record<string, string>>;
  /** Port it listens on; 0 when unknown. */
  readonly port: number;
}

export interface Selection {
  readonly metrics: boolean;
  readonly traces: boolean;
  readonly sampler: Sampler | null;
}

/**
 * Decides whether and how one process is instrumented. Null when an entry of `exclude` matches, or no entry of
 * `include`. Otherwise each field comes from the last matching entry of `include` that sets it.
 */
export function select(config: InstrumentConfig, workload: Workload): Selection | null {
  if (!config.application || config.exclude.some((entry) => matches(entry, workload))) return null;
  const matching = config.include.filter((entry) => matches(entry, workload));
  if (matching.length === 0) return null;
  const exports = matching.findLast((entry) => entry.exports !== undefined)?.exports;
  const sampler = matching.findLast((entry) => entry.sampler !== undefined)?.sampler;
  return {
    metrics: exports?.includes('metrics') ?? true,
    traces: exports?.includes('traces') ?? true,
    sampler: sampler ?? null,
  };
}

/**
 * Fields that select nothing: they configure a match or, like `containers_only`, hold for every process here, because
 * all of them run in containers.
 */
const notSelecting = new Set(['exports', 'sampler', 'routes', 'metrics', 'name', 'namespace', 'containers_only']);

/**
 * True when all selecting fields of the entry match. An entry matches nothing if it has no selecting field, or a field
 * that this stand-in for the instrument does not know.
 */
export function matches(entry: Selector, workload: Workload): boolean {
  const fields = Object.keys(entry).filter((key) => !notSelecting.has(key));
  return fields.length > 0 && fields.every((key) => fieldMatches(key, entry, workload));
}

function fieldMatches(key: string, entry: Selector, workload: Workload): boolean {
  const glob = String(entry[key]);
  switch (key) {
    case 'k8s_namespace':
      return globMatches(glob, workload.namespace);
    case 'k8s_pod_name':
      return globMatches(glob, workload.pod);
    case 'k8s_container_name':
    case 'container_name':
      return globMatches(glob, workload.container);
    case 'k8s_owner_name':
      return Object.values(workload.owners).some((name) => globMatches(glob, name));
    case 'k8s_pod_labels':
      return Object.entries(entry.k8s_pod_labels ?? {}).every(
        ([name, value]) => name in workload.labels && globMatches(String(value), workload.labels[name]!),
      );
    case 'open_ports':
      return workload.port > 0 && portListed(glob, workload.port);
    default: {
      const owner = workload.owners[key];
      return owner !== undefined && globMatches(glob, owner);
    }
  }
}

function portListed(list: string, port: number): boolean {
  return list.split(',').some((part) => {
    const [from, to = from] = part.split('-').map(Number);
    return port >= from! && port <= to!;
  });
}

/** Head sampling by trace id, as the ratio samplers of OpenTelemetry do: all spans of a trace get the same decision. */
export function sampled(sampler: Sampler, traceId: string): boolean {
  const name = (sampler.name ?? 'parentbased_always_on').replace('parentbased_', '');
  if (name === 'always_off') return false;
  if (name !== 'traceidratio') return true;
  const ratio = Number(sampler.arg ?? '1');
  return Number(BigInt(`0x${traceId.slice(16)}`) >> 11n) < ratio * 2 ** 53;
}
