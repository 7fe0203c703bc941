import type { KubeObject } from '../../api/meta.ts';

/** Whether an object matches a label selector in query form: `a=b,c!=d,e,!f,g in (h,i),j notin (k)`. */
export function matchesLabels(object: KubeObject, selector: string): boolean {
  const labels = object.metadata.labels ?? {};
  const terms = selector.match(/[^,(]+(\([^)]*\))?/g) ?? [];
  return terms.every((term) => {
    const [, name = '', operator, list = ''] = /^\s*(\S+)\s+(in|notin)\s*\(([^)]*)\)\s*$/.exec(term) ?? [];
    if (operator) {
      const found = list.split(',').some((value) => value.trim() === labels[name]);
      return operator === 'in' ? found : !found;
    }
    const text = term.trim();
    if (text.includes('!=')) return labels[text.split('!=')[0]!] !== text.split('!=')[1];
    if (text.includes('=')) {
      const [key, value] = text.split(/==?/);
      return labels[key!] === value;
    }
    return text.startsWith('!') ? !(text.slice(1) in labels) : text in labels;
  });
}

/** Whether an object matches a field selector of equalities: `metadata.name=a,spec.nodeName!=b`. */
export function matchesFields(object: KubeObject, selector: string): boolean {
  return selector.split(',').every((term) => {
    const negated = term.includes('!=');
    const [path = '', value = ''] = term.split(negated ? '!=' : '=');
    let found: unknown = object;
    for (const step of path.split('.')) found = (found as Record<string, unknown> | undefined)?.[step];
    return (String(found ?? '') === value) !== negated;
  });
}
