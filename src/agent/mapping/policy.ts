import { parseDuration } from '../../base/duration.ts';
import { builtinLimits, type CaptureConfig, type CaptureMonitorRule } from '../../capture/index.ts';
import { type FlowSide, flowSides } from '../identity/enrich-flow.ts';
import { Redactors } from '../redaction/redactor.ts';

/** What the mapping of points to series depends on: the node's identity and the rules of the current capture config. */
export interface MappingPolicy {
  readonly node: string;
  readonly limits: CaptureConfig['limits'];
  readonly monitors: readonly CaptureMonitorRule[];
  /** Rules for pods that no monitor covers. */
  readonly fallback: NonNullable<CaptureConfig['fallback']>;
  /** Labels (by their Prometheus names) that no series keeps. */
  readonly dropLabels: ReadonlySet<string>;
  /** Explicit bounds that exponential histograms are converted into. Seconds, and bytes. */
  readonly durationBounds: readonly number[];
  readonly sizeBounds: readonly number[];
  readonly redactors: Redactors;
  /** The cluster's name that a policy gives; `''` leaves it to the instrument. */
  readonly cluster: string;
  /** The sides of a flow on which a policy asks for the node, so that an end on another node keeps it. */
  readonly farNodes: ReadonlySet<FlowSide>;
  /** The instrument reports all of its streams once in this time, ms. */
  readonly exportIntervalMs: number;
}

/** The instrument's own default bounds for durations (seconds) and body sizes (bytes). */
export const defaultDurationBounds: readonly number[] = [
  0, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
export const defaultSizeBounds: readonly number[] = [0, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/** Labels that multiply series with every restart or client and add no information beyond other labels. */
const churnLabels: ReadonlySet<string> = new Set(['k8s_pod_start_time', 'k8s_pod_uid', 'server_address']);

const defaultExportIntervalMs = 10_000;

/** The policy before any capture config is known. */
export function defaultPolicy(node: string): MappingPolicy {
  return {
    node,
    limits: builtinLimits,
    monitors: [],
    fallback: [],
    dropLabels: churnLabels,
    durationBounds: defaultDurationBounds,
    sizeBounds: defaultSizeBounds,
    redactors: new Redactors(),
    cluster: '',
    farNodes: new Set(),
    exportIntervalMs: defaultExportIntervalMs,
  };
}

/** The policy that a capture config asks for. */
export function policyOf(node: string, config: CaptureConfig): MappingPolicy {
  const { limits, monitors, fallback = [], redaction = [], histogram = {} } = config;
  return {
    ...defaultPolicy(node),
    limits,
    monitors,
    fallback,
    durationBounds: histogram.durationBounds ?? defaultDurationBounds,
    sizeBounds: histogram.sizeBounds ?? defaultSizeBounds,
    redactors: new Redactors(redaction),
    cluster: clusterOf(config.instrument.yaml),
    farNodes: farNodesOf(config.instrument.yaml),
    exportIntervalMs: exportIntervalOf(config.instrument.yaml),
  };
}

/** The cluster's name in the instrument's file, in the form in which the controller writes it. */
function clusterOf(yaml: string): string {
  return scalar(/^ {4}cluster_name: (.+)$/m.exec(yaml)?.[1] ?? '');
}

/**
 * The sides whose node a policy asks for, in the instrument's file. The pattern with which the controller always asks
 * for both nodes is not among the names that a policy can have.
 */
function farNodesOf(yaml: string): ReadonlySet<FlowSide> {
  const list = /^ {4}obi_network_flow_bytes:\n {6}include: \[(.*)\]$/m.exec(yaml)?.[1] ?? '';
  const names = new Set(list.replaceAll('"', '').split(', '));
  return new Set(flowSides.filter((side) => names.has(`k8s.${side}.node.name`) || names.has(`k8s.${side}.*`)));
}

/** The interval of metrics in the instrument's file. */
function exportIntervalOf(yaml: string): number {
  const text = /^otel_metrics_export:\n(?: {2}.*\n)*? {2}interval: (.+)$/m.exec(yaml)?.[1];
  return text === undefined ? defaultExportIntervalMs : parseDuration(scalar(text), 'otel_metrics_export.interval');
}

/** A string as the controller writes it: plain, or in double quotes. */
function scalar(text: string): string {
  return text.startsWith('"') ? String(JSON.parse(text)) : text;
}
