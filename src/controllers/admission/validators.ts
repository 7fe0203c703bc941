import type { KubeObject } from '../../api/meta.ts';
import type { ClusterTrafficPolicy, TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { monitorFinding, orphanedMonitors, policyFinding, type CaptureObjects } from '../../capture/index.ts';
import type { AdmissionRequest, AdmissionVerdict, Validator } from '../../net/webhook/admission.ts';

const allowed: AdmissionVerdict = { allowed: true };
const shown = 5;

/** With this annotation a policy may orphan monitors: whoever sets it means it. */
export const orphanAnnotation = 'svc.dev/allow-orphans';

/**
 * What a TrafficMonitor may not say and CEL cannot tell: text that is unsafe in the instrument's globs, values that
 * must be parsed. A change that leaves the spec alone always passes, so that nobody is kept from deleting.
 */
export function monitorValidator(): Validator {
  return (request) => {
    if (!changesSpec(request)) return allowed;
    const finding = monitorFinding((request.object as TrafficMonitor & KubeObject).spec);
    return finding ? { allowed: false, message: finding.message } : allowed;
  };
}

/**
 * As for monitors; and no policy may silence monitors that capture now: they would stay, accepted and without data,
 * and their owners would look for the fault in their own objects. `read` gives what the API holds.
 */
export function policyValidator(read: () => CaptureObjects): Validator {
  return (request) => {
    if (!changesSpec(request)) return allowed;
    const candidate = request.object as ClusterTrafficPolicy & KubeObject;
    const objects = read();
    const finding = policyFinding(candidate.spec, objects.environment);
    if (finding) return { allowed: false, message: finding.message };
    const orphans = orphanedMonitors(objects, candidate);
    if (orphans.length === 0) return allowed;
    const listed = orphans.slice(0, shown).map((o) => `${o.monitor} (${o.reason})`);
    const more = orphans.length > shown ? ` and ${orphans.length - shown} more` : '';
    const message = `this policy would leave ${orphans.length} TrafficMonitor(s) without anything to capture: ${listed.join(', ')}${more}`;
    if (candidate.metadata.annotations?.[orphanAnnotation] === 'true') return { allowed: true, warnings: [message] };
    return {
      allowed: false,
      reason: 'Forbidden',
      message: `${message}; annotate it with ${orphanAnnotation}=true if that is meant`,
    };
  };
}

function changesSpec({ operation, object, oldObject }: AdmissionRequest): boolean {
  if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
  if (!object || object.metadata.deletionTimestamp) return false;
  return !oldObject || canonicalJson(object['spec'] ?? null) !== canonicalJson(oldObject['spec'] ?? null);
}
