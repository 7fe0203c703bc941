/**
 * The value of one label of an object; undefined where it is absent. Keys such as `constructor` are valid, so a plain
 * look-up would find members that every JavaScript object has.
 */
export function ownLabel(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
