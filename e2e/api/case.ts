/** One document for the API server to validate. */
export interface Case {
  /** What the server does, as the title of a test in the kind's group: "refuses …" or "accepts …". */
  does: string;
  /** Merged into the spec of the kind's base document; null removes a member, lists are replaced. */
  spec: object;
  /** What the refusal says. Absent: the document must be accepted. */
  says?: RegExp;
  /** Name of the object. Default: that of the kind's base document. */
  name?: string;
}

export const accepts = (what: string, spec: object): Case => ({ does: `accepts ${what}`, spec });

export const refuses = (what: string, spec: object, says: RegExp, name?: string): Case => ({
  does: `refuses ${what}`,
  spec,
  says,
  ...(name === undefined ? {} : { name }),
});

/** JSON merge patch (RFC 7396) on plain data; the target stays as it is. */
export function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merge(result[name], value);
  }
  return result;
}

/** `count` values made from their index. */
export const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
