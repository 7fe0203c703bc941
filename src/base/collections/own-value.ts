/**
 * The value of one key of an object, such as a label or a key of a Secret; undefined where it is absent. Keys such as
 * `constructor` are valid, so a plain look-up would find members that every JavaScript object has.
 */
export function ownValue(values: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
