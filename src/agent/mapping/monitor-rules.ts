import type { CaptureConfig, CaptureMonitorRule } from '../../capture/index.ts';

/** What the rules of a pod say about one of its metric streams. */
export interface StreamRules {
  readonly keep: boolean;
  /** Labels to take away, by their Prometheus names. */
  readonly dropLabels: readonly string[];
}

type PodRules = Pick<CaptureMonitorRule, 'families' | 'dropLabels' | 'ignorePaths'>;
type Fallback = NonNullable<CaptureConfig['fallback']>;

const keepAll: StreamRules = { keep: true, dropLabels: [] };

/**
 * Joins the rules of a pod as `CaptureConfig` tells: families and label lists are united, and absent means all.
 * A request whose route is ignored by one monitor counts only where another one wants it.
 */
export function streamRules(rules: readonly PodRules[], otlpName: string, route: string): StreamRules {
  if (rules.length === 0) return keepAll;
  const family = metricFamily(otlpName);
  const keep = rules.some(
    (rule) =>
      (!rule.families || family === null || (rule.families as readonly string[]).includes(family)) &&
      !(route && rule.ignorePaths?.some((path) => pathMatches(path, route))),
  );
  return { keep, dropLabels: rules.flatMap((rule) => rule.dropLabels ?? []) };
}

/** The rules for a pod that no monitor covers: those of the first fallback that holds its namespace, if any. */
export function fallbackRules(fallback: Fallback, namespace: string): readonly PodRules[] {
  const rule = fallback.find((f) => !f.namespaces || f.namespaces.includes(namespace));
  return rule ? [rule] : [];
}

/** True when a path is the ignored one; each `*` stands for any text. */
export function pathMatches(ignored: string, path: string): boolean {
  const [head, ...rest] = ignored.split('*');
  if (rest.length === 0) return path === ignored;
  if (!path.startsWith(head!)) return false;
  const tail = rest.pop()!;
  let at = head!.length;
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return path.length - tail.length >= at && path.endsWith(tail);
}

const families: readonly (readonly [prefix: string, family: string])[] = [
  ['http.server.', 'HTTPServer'],
  ['http.client.', 'HTTPClient'],
  ['rpc.', 'RPC'],
  ['db.', 'DB'],
  ['messaging.', 'Messaging'],
  ['obi.network.', 'NetworkFlow'],
  ['beyla.network.', 'NetworkFlow'],
  ['obi.stat.tcp.', 'TCPStats'],
];

/** The family of a metric in the terms of a monitor's `families`, or null for one outside all of them. */
export function metricFamily(otlpName: string): string | null {
  return families.find(([prefix]) => otlpName.startsWith(prefix))?.[1] ?? null;
}
