import { type CaptureConfig, type CaptureMonitorRule, holdsPort, matchesGlob } from '../../capture/index.ts';
import type { Protocol } from '../../stream/index.ts';

/** The rules of a pod for one of its metric streams. */
export interface StreamRules {
  readonly keep: boolean;
  /** Labels to remove, by their Prometheus names. */
  readonly dropLabels: readonly string[];
  /** Keys of pod labels to add as `label_<key>`. */
  readonly podLabels: readonly string[];
  /** Keep one sample in this many ms; 0 keeps all. */
  readonly intervalMs: number;
}

/**
 * The data that rules judge: its metric family and its protocol (each null where it does not apply), and the URL paths
 * that it names.
 */
export interface Subject {
  readonly family: string | null;
  readonly protocol: Protocol | null;
  readonly paths: readonly string[];
}

/** One set of rules for a pod, either from a monitor or from the fallback. */
export type PodRules = Omit<
  CaptureMonitorRule,
  'namespace' | 'name' | 'uid' | 'pods' | 'containers' | 'ports' | 'maxSeries'
>;
export type Fallback = NonNullable<CaptureConfig['fallback']>;

const keepAll: StreamRules = { keep: true, dropLabels: [], podLabels: [], intervalMs: 0 };

/**
 * Joins the rules of a pod as `CaptureConfig` defines: families and label lists are united, and an absent list means
 * all. A rule without a family wants spans only; metrics of its pods are captured all the same, because they prove
 * which pod sent the spans.
 * A request whose route one monitor ignores is kept only when another monitor wants it.
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
 * True when a monitor that matches the pod also selects this container and this port. A client process is not selected
 * by port. A container whose name is unknown matches no monitor that names containers.
 * `port` is the port on which a server took the request; null for all other data.
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

/** True when the rule keeps this data. */
export function wants(rule: PodRules, { family, protocol, paths }: Subject): boolean {
  return (
    (!rule.families || family === null || (rule.families as readonly string[]).includes(family)) &&
    (!rule.protocols || protocol === null || rule.protocols.includes(protocol)) &&
    !paths.some((path) => rule.ignorePaths?.some((ignored) => pathMatches(ignored, path)))
  );
}

/** The rules for a pod that no monitor covers: those of the first fallback that applies to its namespace, if any. */
export function fallbackRules(fallback: Fallback, namespace: string): readonly PodRules[] {
  const rule = fallback.find((f) => !f.namespaces || f.namespaces.includes(namespace));
  return rule ? [rule] : [];
}

/** True when a path matches the ignored pattern; each `*` stands for any text. */
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

/** The port on which the sender received the requests that a metric counts; null when the metric has none. */
export function servedPort(otlpName: string, serverPort: string): number | null {
  const serves = otlpName.startsWith('http.server.') || otlpName.startsWith('rpc.server.');
  return serves && Number(serverPort) > 0 ? Number(serverPort) : null;
}
