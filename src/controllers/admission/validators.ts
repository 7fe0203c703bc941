import type { KubeObject } from '../../api/meta.ts';
import type { ClusterTrafficPolicy, TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { monitorFinding, orphanedMonitors, policyFinding, type CaptureObjects } from '../../capture/index.ts';
import type { UserInfo } from '../../net/token-auth.ts';
import { faultText, faultyMetrics } from '../traffic-monitor/metric-conditions.ts';
import type { AdmissionRequest, AdmissionVerdict, Validator } from '../../net/webhook/admission.ts';

const allowed: AdmissionVerdict = { allowed: true };
const shown = 5;
/** Namespaces that one review asks about; with more, the rest is only counted. */
const maxReviews = 10;

/** Whether a user may get the TrafficMonitors of a namespace; without one, of all. */
export type MaySeeMonitors = (user: UserInfo, namespace: string | undefined, signal: AbortSignal) => Promise<boolean>;

/** With this annotation a policy may orphan monitors: whoever sets it means it. */
export const orphanAnnotation = 'svc.dev/allow-orphans';

/**
 * What a TrafficMonitor may not say and CEL cannot tell: text that is unsafe in the instrument's globs, values that
 * must be parsed, expressions for autoscalers that are unsound or cost too much (an old one that stays is a warning). A
 * change that leaves the spec alone always passes, so that deletions go through.
 */
export function monitorValidator(): Validator {
  return (request) => {
    if (!changesSpec(request)) return allowed;
    const { spec } = request.object as TrafficMonitor & KubeObject;
    const finding = monitorFinding(spec);
    if (finding) return { allowed: false, message: finding.message };
    const before = (request.oldObject as (TrafficMonitor & KubeObject) | undefined)?.spec.autoscaling?.metrics ?? [];
    const faults = faultyMetrics(spec);
    const written = faults.filter(({ expr }) => !before.some((old) => old.expr === expr));
    if (written.length > 0) return { allowed: false, message: faultText(written) };
    return faults.length > 0 ? { allowed: true, warnings: [faultText(faults)] } : allowed;
  };
}

/**
 * As for monitors; and no policy may silence monitors that capture now: they would stay, accepted and without data,
 * and their owners would look for the fault in their own objects. `read` gives what the API holds.
 *
 * Monitors are named only to who may see them. `maySee` asks whether a user may get the monitors of a namespace; it is
 * absent where the caller is not proven to be the API server, so that its word on who asks is worth nothing.
 */
export function policyValidator(read: () => CaptureObjects, maySee?: MaySeeMonitors): Validator {
  return async (request, signal) => {
    if (!changesSpec(request)) return allowed;
    const candidate = request.object as ClusterTrafficPolicy & KubeObject;
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

/** The first few that the user may see. A review that fails shows nothing. */
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
