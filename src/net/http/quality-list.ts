/** One member of an Accept or Accept-Encoding header. `value` and parameter names are lower-case. */
export interface Weighted {
  readonly value: string;
  /** In [0, 1]; 1 when the header gives none, 0 when its value is not a valid weight. */
  readonly weight: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * Members of a header with quality values, in its order (RFC 9110 §12.4.2). Members that do not parse are left out.
 * Takes time in proportion to the header.
 */
export function parseQualityList(header: string): Weighted[] {
  const list: Weighted[] = [];
  for (const member of header.split(',')) {
    const [head = '', ...rest] = member.split(';');
    const value = head.trim().toLowerCase();
    if (value === '') continue;
    const parameters = new Map<string, string>();
    for (const parameter of rest) {
      const at = parameter.indexOf('=');
      if (at < 0) continue;
      const text = parameter.slice(at + 1).trim();
      parameters.set(parameter.slice(0, at).trim().toLowerCase(), text.replace(/^"(.*)"$/, '$1'));
    }
    list.push({ value, weight: weightOf(parameters.get('q')), parameters });
  }
  return list;
}

function weightOf(text: string | undefined): number {
  if (text === undefined) return 1;
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
