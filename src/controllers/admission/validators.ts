import type { KubeObject } from '../../api/meta.ts';
import { firstSchemaFault, type SchemaFault } from '../../api/schema/schema-faults.ts';
import { specReader } from '../../api/schema/spec-reader.ts';
import {
  clusterTrafficPolicyKind,
  trafficMonitorKind,
  type ClusterTrafficPolicy,
  type ClusterTrafficPolicySpec,
  type TrafficMonitorSpec,
} from '../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { monitorFinding, orphanedMonitors, policyFinding, type CaptureObjects } from '../../capture/index.ts';
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

/** Whether a user may get the TrafficMonitors of a namespace; without a namespace, of all. */
export type MaySeeMonitors = (user: UserInfo, namespace: string | undefined, signal: AbortSignal) => Promise<boolean>;

/** With this annotation, which is an explicit confirmation, a policy may leave monitors without anything to capture. */
export const orphanAnnotation = 'svc.dev/allow-orphans';

/**
 * The API server asks about an object only after it has applied the schema. Any other caller may ask about an object
 * that would take all memory or all time, so the schema is applied here, too, before anything else.
 */
const readMonitorSpec = specReader<TrafficMonitorSpec>(trafficMonitorKind.spec);
const readPolicySpec = specReader<ClusterTrafficPolicySpec>(clusterTrafficPolicyKind.spec);
const nameSchema = { type: 'string', maxLength: 253 };

const refused = ({ field, reason }: SchemaFault): AdmissionVerdict => ({
  allowed: false,
  message: `${field}: ${reason}`,
});

/**
 * Checks of a TrafficMonitor that CEL cannot express: text that is unsafe in the instrument's globs, values that must
 * be parsed, autoscaler expressions that are unsound or cost too much (an unchanged old one is only a warning). A
 * change that does not touch the spec always passes, so that deletions go through.
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
    const written = faults.filter(({ expr }) => !stored.some((old) => old.expr === expr));
    if (written.length > 0) return { allowed: false, message: faultText(written) };
    return faults.length > 0 ? { allowed: true, warnings: [faultText(faults)] } : allowed;
  };
}

/**
 * Checks a policy like a monitor. In addition, no policy may silence monitors that capture now: they would stay,
 * accepted and without data, and their owners would look for the fault in their own objects. `read` returns the objects
 * of the API.
 *
 * Monitors are named only to users who may see them. `maySee` asks whether a user may get the monitors of a namespace.
 * It is absent when the caller is not proven to be the API server, because the user in the review is then unverified.
 */
export function policyValidator(read: () => CaptureObjects, maySee?: MaySeeMonitors): Validator {
  return async (request, signal) => {
    if (!changesSpec(request)) return allowed;
    const object = request.object as ClusterTrafficPolicy & KubeObject;
    const nameFault = firstSchemaFault(nameSchema, object.metadata.name, 'metadata.name');
    if (nameFault) return refused(nameFault);
    const reading = readPolicySpec(object.spec);
    if ('fault' in reading) return refused(reading.fault);
    const candidate = { ...object, spec: reading.spec };
    const objects = read();
    const finding = policyFinding(candidate.spec, objects.environment);
    if (finding) return { allowed: false, message: finding.message };
    const orphans = orphanedMonitors(objects, candidate);
    if (orphans.length === 0) return allowed;
    const visible = await visibleOrphans(orphans, request.user, maySee, signal);
    const listed = visible.map((o) => `${o.monitor} (${o.reason})`);
    const rest = orphans.length - visible.length;
    const others =
      rest === 0 ? [] : [listed.length === 0 ? 'kubectl svc diff names those you may see' : `${rest} more`];
    const message = `this policy would leave ${orphans.length} TrafficMonitor(s) without anything to capture: ${[...listed, ...others].join(', ')}`;
    if (candidate.metadata.annotations?.[orphanAnnotation] === 'true') return { allowed: true, warnings: [message] };
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
  user: UserInfo,
  maySee: MaySeeMonitors | undefined,
  signal: AbortSignal,
): Promise<Orphan[]> {
  if (!maySee) return [];
  const answers = new Map<string, boolean>();
  const sees = async (namespace: string | undefined): Promise<boolean> => {
    const key = namespace ?? '';
    if (!answers.has(key)) answers.set(key, await maySee(user, namespace, signal).catch(() => false));
    return answers.get(key)!;
  };
  const everywhere = await sees(undefined);
  const visible: Orphan[] = [];
  for (const orphan of orphans) {
    if (visible.length === shown || answers.size > maxReviews) break;
    if (everywhere || (await sees(orphan.monitor.split('/')[0]))) visible.push(orphan);
  }
  return visible;
}

function changesSpec({ operation, object, oldObject }: AdmissionRequest): boolean {
  if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
  if (!object || object.metadata.deletionTimestamp) return false;
  return !oldObject || canonicalJson(object['spec'] ?? null) !== canonicalJson(oldObject['spec'] ?? null);
}
