import type { ClusterTrafficPolicySpec, MonitorSettings } from '../../../api/v1alpha1/index.ts';
import { parseDuration } from '../../../base/duration.ts';
import { errorText } from '../../../base/errors.ts';
import { parseBytes, sizeFault } from '../bytes.ts';
import { durationFault, longestInterval, longestRetention } from '../durations.ts';
import { exportFault } from '../exports.ts';
import { extraConfigFinding } from '../extra-config.ts';
import { flowAttributes } from '../flow-attributes.ts';
import { pathRewriteFault } from './redaction.ts';
import {
  cidrText,
  globText,
  headerText,
  hostPortText,
  labelKeyText,
  literalText,
  oneTextFault,
  pathGlobText,
  routeText,
  textFault,
} from './text-checks.ts';
import type { CompileEnvironment, PolicyFinding } from '../types.ts';

/**
 * Why a policy cannot be compiled in this environment, or null. The order decides which fault is reported. `accepted` is
 * the policy's last accepted spec: what it has is not refused for its cost, because a version without that check may
 * have accepted it.
 */
export function policyFinding(
  spec: ClusterTrafficPolicySpec,
  environment: Pick<CompileEnvironment, 'instrumentVersion' | 'allowExtraConfig'>,
  accepted: ClusterTrafficPolicySpec | undefined,
): PolicyFinding | null {
  const message =
    exclusions(spec) ??
    settings('spec.defaults', spec.defaults) ??
    settings('spec.overrides', spec.overrides) ??
    durations(spec) ??
    sizes(spec) ??
    instrument(spec) ??
    network(spec) ??
    histogram(spec) ??
    nodeWide(spec) ??
    pathRewriteFault(spec, accepted) ??
    exportFault(spec.export);
  return extraConfigFinding(spec, environment) ?? (message === null ? null : { reason: 'Invalid', message });
}

function exclusions(spec: ClusterTrafficPolicySpec): string | null {
  for (const [i, item] of (spec.exclusions ?? []).entries()) {
    const at = `spec.exclusions[${i}]`;
    if (!item.namespaces && !item.podLabels && !item.workloads && !item.executables && !item.ports) {
      return `${at}: names nothing, which would exclude everything`;
    }
    const workloads = item.workloads?.map((w) => w.name);
    const fault =
      textFault(`${at}.namespaces`, item.namespaces, globText) ??
      textFault(`${at}.podLabels`, Object.keys(item.podLabels ?? {}), labelKeyText) ??
      textFault(`${at}.podLabels`, Object.values(item.podLabels ?? {}), globText) ??
      textFault(`${at}.workloads`, workloads, globText) ??
      textFault(`${at}.executables`, item.executables, pathGlobText);
    if (fault) return fault;
  }
  return null;
}

function settings(at: string, value: MonitorSettings | undefined): string | null {
  return (
    textFault(`${at}.http.routes`, value?.http?.routes, routeText) ??
    textFault(`${at}.metrics.labels.podLabels`, value?.metrics?.labels?.podLabels, labelKeyText)
  );
}

function durations(spec: ClusterTrafficPolicySpec): string | null {
  return (
    durationFault(
      {
        'spec.defaults.metrics.interval': spec.defaults?.metrics?.interval,
        'spec.defaults.sampling.keepSlowerThan': spec.defaults?.sampling?.keepSlowerThan,
        'spec.overrides.metrics.interval': spec.overrides?.metrics?.interval,
        'spec.overrides.sampling.keepSlowerThan': spec.overrides?.sampling?.keepSlowerThan,
        'spec.instrument.exportInterval': spec.instrument?.exportInterval,
        'spec.instrument.pollInterval': spec.instrument?.pollInterval,
        'spec.rollout.minInterval': spec.rollout?.minInterval,
      },
      longestInterval,
    ) ??
    durationFault(
      {
        'spec.retention.metrics.time': spec.retention?.metrics?.time,
        'spec.retention.spans.time': spec.retention?.spans?.time,
      },
      longestRetention,
    )
  );
}

function sizes({ retention }: ClusterTrafficPolicySpec): string | null {
  return sizeFault({
    'spec.retention.metrics.size': retention?.metrics?.size,
    'spec.retention.spans.size': retention?.spans?.size,
  });
}

function instrument(spec: ClusterTrafficPolicySpec): string | null {
  const { clusterName, kubeMetaCache } = spec.instrument ?? {};
  return (
    oneTextFault('spec.instrument.clusterName', clusterName, literalText) ??
    oneTextFault('spec.instrument.kubeMetaCache', kubeMetaCache, hostPortText) ??
    textFault('spec.redaction.queryParams.add', spec.redaction?.queryParams?.add, literalText) ??
    textFault('spec.redaction.queryParams.remove', spec.redaction?.queryParams?.remove, literalText) ??
    textFault('spec.redaction.headers.allow', spec.redaction?.headers?.allow, headerText) ??
    textFault('spec.redaction.headers.obfuscate', spec.redaction?.headers?.obfuscate, headerText)
  );
}

function network(spec: ClusterTrafficPolicySpec): string | null {
  const n = spec.network;
  if (n?.source === 'TC' && !n.acknowledgeCiliumConflict) {
    return 'spec.network.source: TC conflicts with Cilium; set acknowledgeCiliumConflict: true';
  }
  if (n?.excludeInterfaces && n.excludeInterfaces.length > 0 && n.source !== 'TC') {
    return 'spec.network.excludeInterfaces: takes effect with source: TC only';
  }
  for (const [i, { cidr, name }] of (n?.cidrs ?? []).entries()) {
    const at = `spec.network.cidrs[${i}]`;
    const wrong = oneTextFault(`${at}.cidr`, cidr, cidrText) ?? oneTextFault(`${at}.name`, name, literalText);
    if (wrong) return wrong;
  }
  const unknown = (n?.attributes ?? []).find((a) => !flowAttributes.includes(a));
  if (unknown !== undefined) {
    return `spec.network.attributes: ${JSON.stringify(unknown)} is none of ${flowAttributes.join(' ')}`;
  }
  return textFault('spec.network.excludeInterfaces', n?.excludeInterfaces, literalText);
}

function histogram(spec: ClusterTrafficPolicySpec): string | null {
  const h = spec.http?.histogram;
  for (const field of ['durationBuckets', 'sizeBuckets'] as const) {
    let values: number[];
    try {
      values = (h?.[field] ?? []).map((v) => bucketBound(field, v));
    } catch (error) {
      return `spec.http.histogram.${errorText(error)}`;
    }
    if (values.some((v, i) => i > 0 && v <= values[i - 1]!)) {
      return `spec.http.histogram.${field}: bounds must ascend`;
    }
  }
  return null;
}

/** The fault of a policy for some namespaces that sets what exists once per node, for all namespaces; else null. */
function nodeWide(spec: ClusterTrafficPolicySpec): string | null {
  if (!spec.namespaceSelector) return null;
  const limit = (
    ['maxSeriesPerNode', 'maxSeriesPerNamespace', 'maxLabelValueLength', 'maxSpansPerSecondPerNode', 'onLimit'] as const
  ).find((name) => spec.limits?.[name] !== undefined);
  const member = (['http', 'network', 'instrument', 'retention', 'rollout', 'systemNamespaces'] as const).find(
    (name) => spec[name] !== undefined,
  );
  const field = limit ? `limits.${limit}` : member;
  if (field) return `spec.${field}: exists once per node; move it to a policy without namespaceSelector`;
  return spec.capture?.containersOnly === false
    ? 'spec.capture.containersOnly: only containers have a namespace; leave it true with namespaceSelector'
    : null;
}

/** A bound in the unit of the instrument: seconds for a duration, bytes for a size. Errors: ERR_INPUT_INVALID. */
export function bucketBound(field: 'durationBuckets' | 'sizeBuckets', value: number | string): number {
  return field === 'sizeBuckets' ? parseBytes(value) : parseDuration(String(value), field) / 1000;
}
