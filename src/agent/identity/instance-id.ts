import { valueText } from '../mapping/label-set.ts';
import type { Attribute } from '../otlp/model.ts';

/** The attribute in which the instrument names the container of a process. */
export const instanceKey = 'service.instance.id';

/** The container that a `service.instance.id` names; `container` is empty when the instrument does not know it. */
export interface InstanceName {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

const form = /^([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\.([a-z0-9][a-z0-9.-]*)\.([a-z0-9-]*)$/;

/**
 * Reads `namespace.pod.container`. Only the pod's name may hold dots, so the form is unambiguous. Null for any other
 * text: the instrument writes `host:pid` for a process whose pod it does not know.
 */
export function parseInstanceId(text: string): InstanceName | null {
  const match = form.exec(text);
  return match && { namespace: match[1]!, pod: match[2]!, container: match[3]! };
}

/** The text of an attribute, `''` for none. If the key occurs twice, the later one counts, as in the instrument. */
export function lastText(attributes: readonly Attribute[], key: string): string {
  for (let i = attributes.length - 1; i >= 0; i--) {
    if (attributes[i]!.key === key) return valueText(attributes[i]!.value);
  }
  return '';
}
