import type { KubeObject } from '../../api/meta.ts';
import { firstSchemaFault, type SchemaFault } from '../../api/schema/schema-faults.ts';
import { shapeReader } from '../../api/schema/spec-reader.ts';
import {
  clusterTrafficPolicyKind,
  trafficMonitorKind,
  type ClusterTrafficPolicy,
  type ClusterTrafficPolicySpec,
  type TrafficMonitorSpec,
} from '../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/time-limit.ts';
import {
  lastPolicySpec,
  monitorFinding,
  orphanedMonitors,
  policyFinding,
  type CaptureObjects,
} from '../../capture/index.ts';
import type { UserInfo } from '../../kube/reviews.ts';
import { faultText, faultyMetrics } from '../traffic-status/metric-conditions.ts';
import type { AdmissionRequest, AdmissionVerdict, Validator } from '../../net/webhook/admission.ts';

const allowed: AdmissionVerdict = { allowed: true };
const shown = 5;
/**
 * The most namespaces for which one request asks whether the user may see their monitors. Monitors of other namespaces
 * are only counted.
 */
const maxReviews = 10;
/**
 * How long a verdict waits for these answers. It only adds names to a message, and a verdict that comes too late is left
 * to the failure policy, which may admit what has to be refused. Units: ms.
 */
const reviewsMs = 1_500;

/** Whether a user may get the TrafficMonitors of a namespace; without a namespace, of all. */
export type MaySeeMonitors = (user: UserInfo, namespace: string | undefined, signal: AbortSignal) => Promise<boolean>;

/** With this annotation, which is an explicit confirmation, a policy may leave monitors without anything to capture. */
export const orphanAnnotation = 'svc.dev/allow-orphans';

/**
 * The API server asks about an object only after it has applied the schema. Any other caller may ask about an object
 * that would take all memory or all time, so types and sizes are checked here, too, before anything else.
 */
const readMonitorSpec = shapeReader<TrafficMonitorSpec>(trafficMonitorKind.spec);
const readPolicySpec = shapeReader<ClusterTrafficPolicySpec>(clusterTrafficPolicyKind.spec);
const nameSchema = { type: 'string', maxLength: 253 };

const refused = ({ field, reason }: SchemaFault): AdmissionVerdict => ({
  allowed: false,
  message: `${field}: ${reason}`,
});

/**
 * Checks of a TrafficMonitor that CEL cannot express: text that is unsafe in the instrument's globs, values that must
 * be parsed, metrics for autoscalers that cannot be offered or cost too much (a fault that the metric of this name has
 * already is only a warning). A change that does not touch the spec always passes, so that deletions go through.
 */
export function monitorValidator(): Validator {
  return (request) => {
    if (!changesSpec(request)) return allowed;
    const reading = readMonitorSpec(request.object?.['spec']);
    if ('fault' in reading) return refused(reading.fault);
    const { spec } = reading;
    const finding = monitorFinding(spec);
    if (finding) return { allowed: false, message: finding.message };
    const faults = faultyMetrics(spec);
    const before = readMonitorSpec(request.oldObject?.['spec']);
    const stored = 'spec' in before ? (before.spec.autoscaling?.metrics ?? []) : [];
    const written = faults.filter(
      ({ name, field, value }) => !stored.some((old) => old.name === name && old[field] === value),
    );
    if (written.length > 0) return { allowed: false, message: faultText(written) };
    return faults.length > 0 ? { allowed: true, warnings: [faultText(faults)] } : allowed;
  };
}

/**
 * Checks a policy like a monitor. In addition, no policy may silence monitors that capture now: they would stay,
 * accepted and without data, and their owners would look for the fault in their own objects. `read` returns the objects
 * of the API.
 *
 * Monitors are named only to users who may see them. `maySee` asks whether a user may get the monitors of a namespace;
 * what it has not answered after 1.5 seconds of `clock` counts as no. It must heed the signal.
 * It is absent when the caller is not proven to be the API server, because the user in the review is then unverified.
 */
export function policyValidator(read: () => CaptureObjects, clock: Clock, maySee?: MaySeeMonitors): Validator {
  return async (request, signal) => {
    if (!changesSpec(request)) return allowed;
    const object = request.object as ClusterTrafficPolicy & KubeObject;
    const nameFault = firstSchemaFault(nameSchema, object.metadata.name, 'metadata.name');
    if (nameFault) return refused(nameFault);
    const reading = readPolicySpec(object.spec);
    if ('fault' in reading) return refused(reading.fault);
    const objects = read();
    // Not the review's old object, nor its status: any caller may write these.
    const status = objects.policies.find(({ metadata }) => metadata.name === object.metadata.name)?.status;
    const finding = policyFinding(reading.spec, objects.environment, lastPolicySpec(status));
    if (finding) return { allowed: false, message: finding.message };
    const { apiVersion, kind, metadata } = object;
    const candidate = { apiVersion, kind, metadata, spec: reading.spec, ...(status ? { status } : {}) };
    const orphans = orphanedMonitors(objects, candidate);
    if (orphans.length === 0) return allowed;
    const visible = maySee
      ? await within(clock, reviewsMs, (s) => visibleOrphans(orphans, (ns) => maySee(request.user, ns, s)), signal)
      : [];
    const listed = visible.map((o) => `${o.monitor} (${o.reason})`);
    const rest = orphans.length - visible.length;
    const others =
      rest === 0 ? [] : [listed.length === 0 ? 'kubectl svc diff names those you may see' : `${rest} more`];
    const message = `this policy would leave ${orphans.length} TrafficMonitor(s) without anything to capture: ${[...listed, ...others].join(', ')}`;
    if (metadata.annotations?.[orphanAnnotation] === 'true') return { allowed: true, warnings: [message] };
    return {
      allowed: false,
      reason: 'Forbidden',
      message: `${message}; annotate it with ${orphanAnnotation}=true if that is meant`,
    };
  };
}

type Orphan = ReturnType<typeof orphanedMonitors>[number];

/** The first few orphaned monitors that the user may see. A failed review of the user's access reveals none. */
async function visibleOrphans(
  orphans: readonly Orphan[],
  maySee: (namespace: string | undefined) => Promise<boolean>,
): Promise<Orphan[]> {
  const sees = (namespace: string | undefined): Promise<boolean> => maySee(namespace).catch(() => false);
  if (await sees(undefined)) return orphans.slice(0, shown);
  const namespaceOf = ({ monitor }: Orphan): string => monitor.split('/')[0]!;
  const asked = [...new Set(orphans.map(namespaceOf))].slice(0, maxReviews);
  const answers = await Promise.all(asked.map(sees));
  const seen = new Set(asked.filter((_, i) => answers[i]));
  return orphans.filter((orphan) => seen.has(namespaceOf(orphan))).slice(0, shown);
}

function changesSpec({ operation, object, oldObject }: AdmissionRequest): boolean {
  if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
  if (!object || object.metadata.deletionTimestamp) return false;
  return !oldObject || canonicalJson(object['spec'] ?? null) !== canonicalJson(oldObject['spec'] ?? null);
}
