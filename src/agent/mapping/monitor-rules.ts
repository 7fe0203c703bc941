import { type CaptureConfig, type CaptureMonitorRule, holdsPort, matchesGlob } from '../../capture/index.ts';
import type { Protocol } from '../../stream/index.ts';

/** What the rules of a pod say about one of its metric streams. */
export interface StreamRules {
  readonly keep: boolean;
  /** Labels to take away, by their Prometheus names. */
  readonly dropLabels: readonly string[];
  /** Keys of pod labels to add as `label_<key>`. */
  readonly podLabels: readonly string[];
  /** Keep one sample in this many ms; 0 keeps all. */
  readonly intervalMs: number;
}

/** What the rules look at: the family and protocol (null where neither applies), and the paths that a point names. */
export interface Subject {
  readonly family: string | null;
  readonly protocol: Protocol | null;
  readonly paths: readonly string[];
}

/** The rules of one pod: of a monitor, or the fallback. */
export type PodRules = Omit<
  CaptureMonitorRule,
  'namespace' | 'name' | 'uid' | 'pods' | 'containers' | 'ports' | 'maxSeries'
>;
type Fallback = NonNullable<CaptureConfig['fallback']>;

const keepAll: StreamRules = { keep: true, dropLabels: [], podLabels: [], intervalMs: 0 };

/**
 * Joins the rules of a pod as `CaptureConfig` tells: families and label lists are united, and absent means all. A rule
 * without a family wants spans alone; metrics of its pods come all the same, as they show whose the spans are.
 * A request whose route is ignored by one monitor counts only where another one wants it.
 */
export function streamRules(rules: readonly PodRules[], subject: Subject): StreamRules {
  if (rules.length === 0) return keepAll;
  return {
    keep: rules.some((rule) => rule.families?.length !== 0 && wants(rule, subject)),
    dropLabels: rules.flatMap((rule) => rule.dropLabels ?? []),
    podLabels: rules.flatMap((rule) => rule.podLabels ?? []),
    intervalMs: rules[0]!.intervalMs ?? 0,
  };
}

/**
 * True when a monitor that has the pod is for this container of it, and for what it serves on this port. A process that
 * calls others is not known by a port. A container that is not known is none of those that a monitor names.
 * `port`: of the server that took the request; null for all else.
 */
export function coversSender(
  { containers, ports }: Pick<CaptureMonitorRule, 'containers' | 'ports'>,
  container: string,
  port: number | null,
): boolean {
  return (
    (!containers || containers.some((glob) => matchesGlob(glob, container))) &&
    (!ports || port === null || holdsPort(ports, port))
  );
}

/** True when one rule keeps data of that kind. */
export function wants(rule: PodRules, { family, protocol, paths }: Subject): boolean {
  return (
    (!rule.families || family === null || (rule.families as readonly string[]).includes(family)) &&
    (!rule.protocols || protocol === null || rule.protocols.includes(protocol)) &&
    !paths.some((path) => rule.ignorePaths?.some((ignored) => pathMatches(ignored, path)))
  );
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
  ['beyla.stat.tcp.', 'TCPStats'],
];

/** The family of a metric in the terms of a monitor's `families`, or null for one outside all of them. */
export function metricFamily(otlpName: string): string | null {
  return families.find(([prefix]) => otlpName.startsWith(prefix))?.[1] ?? null;
}

/** The port on which the sender took what a metric counts; null where the metric has none. */
export function servedPort(otlpName: string, serverPort: string): number | null {
  const serves = otlpName.startsWith('http.server.') || otlpName.startsWith('rpc.server.');
  return serves && Number(serverPort) > 0 ? Number(serverPort) : null;
}
