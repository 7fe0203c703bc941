import type { CaptureMonitorRule } from '../../capture/index.ts';

/** What the monitors of a pod say about one of its metric streams. */
export interface StreamRules {
  readonly keep: boolean;
  /** Labels to take away, by their Prometheus names. */
  readonly dropLabels: readonly string[];
}

const keepAll: StreamRules = { keep: true, dropLabels: [] };

/**
 * Joins the rules of all monitors that cover a pod: a stream is kept when one of them wants it, and loses every
 * label that one of them drops. A pod without a monitor keeps everything: then the policy decided to capture it.
 */
export function streamRules(rules: readonly CaptureMonitorRule[], otlpName: string, route: string): StreamRules {
  if (rules.length === 0) return keepAll;
  const family = metricFamily(otlpName);
  const keep = rules.some(
    (rule) =>
      !rule.dropSignals?.includes('metrics') &&
      (!rule.families || family === null || (rule.families as readonly string[]).includes(family)) &&
      !(route && rule.ignorePaths?.some((path) => pathMatches(path, route))),
  );
  return { keep, dropLabels: rules.flatMap((rule) => rule.dropLabels ?? []) };
}

/** True when a path is the ignored one, or starts with it where it ends in `*`. */
export function pathMatches(ignored: string, path: string): boolean {
  return ignored.endsWith('*') ? path.startsWith(ignored.slice(0, -1)) : path === ignored;
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
